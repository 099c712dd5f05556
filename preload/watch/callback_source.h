// The Python that calls the functions of the user's file: take(), step_ends() and end(). callbacks.cc gives it
// `settings` and the functions that it calls back, and calls it.
#pragma once

namespace tensorscope::watch {

extern const char kCallbackSource[];

}  // namespace tensorscope::watch
