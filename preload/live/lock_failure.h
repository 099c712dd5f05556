// SPDX-License-Identifier: Apache-2.0
// What happens when a lock of the live tables cannot be had within its bound: recording goes off, coverage and one line
// on standard error say so, and the program goes on.
//
// Context: hook, collector.
#pragma once

namespace tensorscope::live {

[[gnu::noinline]] void give_up_on_locks();

}  // namespace tensorscope::live
