// SPDX-License-Identifier: Apache-2.0
// The serial of a live tensor by its address.
#pragma once

#include "support/ids.h"

namespace tensorscope::live {

// 0: no live tensor has this address. Takes one shard's lock. Context: collector, or with the GIL; not in hooks.
Serial tensor_serial(const void* impl);

}  // namespace tensorscope::live
