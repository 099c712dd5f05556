// SPDX-License-Identifier: Apache-2.0
// The dumps that this process has written so far, and what the next one is called.
//
// Context: collector; fork child: made anew.
#pragma once

#include <limits.h>

#include <cstdint>

#include "collector/collector.h"
#include "dump/dump_file.h"
#include "dump/dump_name.h"

namespace tensorscope::collector {

struct WrittenDumps {
  uint32_t asked_for = 0;      // numbered ones
  uint32_t out_of_memory = 0;  // of failures
  uint32_t low_memory = 0;     // of limits that were near
  uint32_t at_growth = 0;
  uint32_t all = 0;
  int64_t last_live = -1;
  char named[PATH_MAX] = "";  // the newest dump that has names of tensors
  uint64_t named_ns = 0;      // when it was written
};
WrittenDumps& written_dumps();
void count_dump(Reason reason);

// The directory dumps go to, as an absolute path: the program may change its own.
void dump_directory(char (&out)[PATH_MAX]);
const char* trigger_name(Reason reason);
// What stands for the number in the dump's name; empty: its number among those that were asked for.
void dump_kind(Reason reason, char (&kind)[32]);
// Gives the file the first name that is free. Returns false if none is, or the file cannot be named.
bool name_file(dump::DumpFile& file, const dump::DumpName& base, char (&name)[NAME_MAX + 1]);

}  // namespace tensorscope::collector
