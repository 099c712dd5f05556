// SPDX-License-Identifier: Apache-2.0
// Binds what the loader has bound already. A library that is preloaded comes first in the search for each name; one
// that is loaded into a running process comes too late for that, so the slots of the objects that are there are
// written: the same slots through which a preloaded library is reached (self_check.h).
//
// Context: activation, collector; recording has not begun, or what is bound now was missed so far.
#pragma once

namespace tensorscope::hooks {

// Every slot of every loaded object but the preload's own that calls a name of hook_list.h. Again after libraries were
// loaded: what they bound to the preload by themselves stays.
void bind_late();

}  // namespace tensorscope::hooks
