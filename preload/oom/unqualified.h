// SPDX-License-Identifier: Apache-2.0
// Names of C++ classes as a person says them.
//
// Context: any; no malloc.
#pragma once

#include <string_view>

namespace tensorscope::oom {

// The class's own name: "ReluBackward0" of "N5torch8autograd9generated13ReluBackward0E".
std::string_view unqualified(const char* mangled);

}  // namespace tensorscope::oom
