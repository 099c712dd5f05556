// `tensorscope stop --all`: stacks, values, recordings and dumps of this process are off until `start`. Tensors and
// memory are still tracked, so that what is written afterwards is complete.
//
// Context: stop_all() and start_all() on the collector; dumps_are_off() on it or on the thread that stands in for it.
#pragma once

namespace tensorscope::collector {

void stop_all();
// What stop_all() switched off; stacks in any case.
void start_all();
bool dumps_are_off();

}  // namespace tensorscope::collector
