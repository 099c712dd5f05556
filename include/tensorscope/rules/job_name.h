// SPDX-License-Identifier: Apache-2.0
// What all ranks of one job have in common in their environment, as one word: which processes and dumps belong
// together.
//
// Context: any. No malloc.
#pragma once

#include <stdio.h>
#include <string.h>

#include <cstddef>

namespace tensorscope::rules {

// `get`: the value of a variable, null where it is not set. "" in `name` where the environment does not tell.
template <typename Get, size_t size>
void job_name(Get get, char (&name)[size]) {
  const auto has = [](const char* text) { return text != nullptr && *text != 0; };
  name[0] = 0;
  const char* const run = get("TORCHELASTIC_RUN_ID");  // "none": torchrun without --rdzv-id
  const char* const address = get("MASTER_ADDR");
  const char* const port = get("MASTER_PORT");
  const char* const slurm = get("SLURM_JOB_ID");
  if (has(run) && strcmp(run, "none") != 0) {
    snprintf(name, size, "%s", run);
  } else if (has(address) && has(port)) {
    snprintf(name, size, "%s:%s", address, port);
  } else if (has(slurm)) {
    snprintf(name, size, "slurm-%s", slurm);
  }
}

}  // namespace tensorscope::rules
