// SPDX-License-Identifier: Apache-2.0
// Who this process is: read once at activation, before the program can overwrite its command line or change its
// directory, and again in a forked child for what differs there.
//
// Context: written at activation and in the fork child, constant otherwise.
#pragma once

#include <limits.h>

#include <cstddef>
#include <cstdint>

namespace tensorscope {

struct ProcessInfo {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t forked_from = 0;
  int rank = -1;
  int local_rank = -1;
  int world_size = -1;
  uint64_t start_unix_ns = 0;
  uint64_t start_ns = 0;
  uint64_t image_start_unix_ns = 0;  // of the first process of this program: a forked child keeps its parent's
  char program[NAME_MAX + 1] = "";   // what a person calls it (program_name.h)
  char executable[PATH_MAX] = "";
  char directory[PATH_MAX] = "";  // working directory at activation
  char host[65] = "";
  char run_id[33] = "";
  char job[128] = "";             // the same in all ranks of a job (rules/job_name.h); "" where this is no rank
  const char* command_line = "";  // arguments, each with its terminating zero; secrets are stars
  size_t command_line_size = 0;
};

// Context: activation. Idempotent.
void start_process_info();
const ProcessInfo& process_info();
void process_info_after_fork_in_child();

}  // namespace tensorscope
