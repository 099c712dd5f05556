// SPDX-License-Identifier: Apache-2.0
// --find-nan for tensors in a device's memory: what modules return, and gradients before an optimizer's step, are
// reduced to one number each on the device, and the numbers are read once a step. By torch's own operations, called
// from Python: hooks of torch.nn and torch.optim, registered when the first tensor on a device is seen.
//
// Context: as named.
#pragma once

#include <cstdint>

namespace tensorscope::find_nan {

struct DeviceFinding {
  bool nan = false;  // else an infinity
  bool gradient = false;
  uint64_t module = 0;         // the object
  const char* parameter = "";  // whose gradient it is
  uint32_t step = 0;
};

// Has the main thread register the hooks at its next chance, once. Context: hook, any thread; cheap afterwards.
void want_device_checks();
bool device_checks_run();
uint64_t device_checks();  // how many results were read

// What to do with a finding: with the GIL, under an InsideScope. Context: activation.
void start_device_checks(void (*found)(const DeviceFinding&));

}  // namespace tensorscope::find_nan
