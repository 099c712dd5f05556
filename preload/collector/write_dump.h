// SPDX-License-Identifier: Apache-2.0
// Writes one dump: phase 1 (tables, stacks, metadata, totals; no GIL), phase 2 (names, with the GIL, with a time
// limit), the name of the file, and the line on standard error.
//
// Context: collector, or the thread that stands in for it. One at a time a process.
#pragma once

#include <limits.h>

#include "collector/dump_request.h"

namespace tensorscope::collector {

// Whether what torch calls arrives at the hooks (hooks/self_check.h): a dump looks again, and reads torch's objects
// only where their destruction is seen. Context: activation, before start_collector().
struct HookCheck {
  void (*run)();
  bool (*destruction_is_seen)();
};
void set_hook_check(const HookCheck& check);

// False: nothing was written, and one line on standard error has said why. `path` receives the dump's path.
bool write_dump(const DumpRequest& request, char (&path)[PATH_MAX]);

}  // namespace tensorscope::collector
