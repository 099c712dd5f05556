// SPDX-License-Identifier: Apache-2.0
// Finds and opens CUPTI: the library that the process's torch has loaded, or would load.
//
// Context: a thread of our own (dlopen takes the loader's lock, and may run constructors).
#pragma once

#include "devices/cupti/cupti_api.h"
#include "support/status.h"

namespace tensorscope::cupti {

// In this order: one that is loaded; beside the loaded libcudart (a wheel of CUDA 13, a toolkit), in the folder of
// NVIDIA's package for CUPTI next to it (wheels of CUDA 12), beside torch; the loader's own search. Of the major
// version of the loaded libcudart where there is one.
Status open_library(Functions& functions);

}  // namespace tensorscope::cupti
