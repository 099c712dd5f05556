// SPDX-License-Identifier: Apache-2.0
// Which of the loaded objects are PyTorch's.
//
// Context: any; no lock, no malloc.
#pragma once

#include <initializer_list>

#include "support/loaded_object.h"

namespace tensorscope::hooks {

inline bool is_torch_library(const LoadedObject& object) {
  for (const char* prefix : {"libc10", "libtorch", "_C."}) {
    if (object.file_name_begins_with(prefix)) return true;
  }
  return false;
}

}  // namespace tensorscope::hooks
