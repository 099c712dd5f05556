// SPDX-License-Identifier: Apache-2.0
// `tensorscope stop --all`: what the features record and dumps of this process are off until `tensorscope start`.
// What the program switches on meanwhile stays off until then. Tensors and memory are still tracked, so that what is
// written afterwards is complete.
//
// Context: stop_all() and start_all() on the collector; all_is_stopped() on it or on the thread that stands in for it.
#pragma once

namespace tensorscope::collector {

void stop_all();
// What stop_all() switched off; stacks in any case.
void start_all();
bool all_is_stopped();

}  // namespace tensorscope::collector
