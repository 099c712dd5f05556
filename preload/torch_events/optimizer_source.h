// The Python that registers hooks with torch.optim, which tell when a step begins and ends. module_calls.cc gives it
// `torch`, `optim` and the functions that it calls back.
#pragma once

namespace tensorscope::torch_events {

extern const char kOptimizerSource[];

}  // namespace tensorscope::torch_events
