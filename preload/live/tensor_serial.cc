// SPDX-License-Identifier: Apache-2.0
#include "live/tensor_serial.h"

#include "live/tensor_table.h"

namespace tensorscope::live {

Serial tensor_serial(const void* impl) { return g_tensors.serial(impl); }

}  // namespace tensorscope::live
