// SPDX-License-Identifier: Apache-2.0
#include "collector/history_seconds.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>

#include "live/history.h"
#include "support/small_file.h"

namespace tensorscope::collector {

namespace {

// 0: not known.
uint64_t resident_bytes() {
  char text[128];
  if (read_small_file("/proc/self/statm", text, sizeof(text)) == 0) return 0;
  char* resident = nullptr;
  strtoull(text, &resident, 10);
  return strtoull(resident, nullptr, 10) * uint64_t(sysconf(_SC_PAGESIZE));
}

}  // namespace

void look_for_history() { live::history_second(resident_bytes); }

}  // namespace tensorscope::collector
