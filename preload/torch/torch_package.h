// SPDX-License-Identifier: Apache-2.0
// Where PyTorch's Python package lies in this process (tensorscope/rules/user_code.h).
//
// Context: collector, one dump at a time. No malloc.
#pragma once

#include <string_view>

namespace tensorscope::torch {

// Empty: it is not loaded. Once found it stays.
std::string_view torch_package();

}  // namespace tensorscope::torch
