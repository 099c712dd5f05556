// SPDX-License-Identifier: Apache-2.0
// The name of a dump file.
//
// Context: collector. No malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/process_info.h"

namespace tensorscope::dump {

struct DumpName {
  uint32_t number = 1;  // one-based index among the requested dumps
  const char* kind =
      "";  // "exit" for the dump at exit, "oom-1" for the first of a failure, "growth-1" and so on; empty: numbered
  const char* trigger = "";  // "signal", "exit", "call", "oom"
};

// Expands `pattern` (null: the default, PROGRAM[.rankR].PID.N) into `out`: {program} {pid} {n} {kind} {rank} {host};
// {n} is what `kind` says where it is not empty. Always ends in ".tscope", holds no slash, and is no longer than a file
// name may be with `attempt` (2, 3, ...: "-2", "-3" before the ending; 1: nothing): what is too long is cut from the
// program's name.
void dump_name(const char* pattern, const ProcessInfo& process, const DumpName& name, unsigned attempt,
               char (&out)[NAME_MAX + 1]);

}  // namespace tensorscope::dump
