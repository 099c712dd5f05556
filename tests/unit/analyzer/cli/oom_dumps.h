// SPDX-License-Identifier: Apache-2.0
// Dumps of programs that ran out of memory: the same bytes every time.
#pragma once

#include <string>

#include "support/dump_builder.h"

namespace tensorscope::testing {

// A transformer of four layers on a GPU of 16 GiB that keeps its losses; in step `step` its attention asks for 1 GiB
// in vain. Another process, NCCL, a workspace of cuBLAS, free memory in pieces, a private pool, garbage.
DumpBuilder gpu_dump(int step, const std::string& directory, bool failed = true);

}  // namespace tensorscope::testing
