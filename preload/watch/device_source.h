// The Python that runs on a device's stream what is taken of a value there: tensorscope_take() and what it calls.
// device_values.cc gives it `torch` and the functions that it calls back, and calls it.
#pragma once

namespace tensorscope::watch {

extern const char kDeviceSource[];

}  // namespace tensorscope::watch
