// SPDX-License-Identifier: Apache-2.0
// All locks of the live tables together, always in one order: for a snapshot and around fork.
//
// Context: collector, fork handlers. Hooks hold one lock at a time, so no order of theirs can cross this one.
#pragma once

namespace tensorscope::live {

// False, and none held, where one could not be had (give_up_on_locks() was called then).
bool lock_everything();
void unlock_everything();

}  // namespace tensorscope::live
