// SPDX-License-Identifier: Apache-2.0
// Names for the numbers that a dump takes over from PyTorch, and for mangled class names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tensorscope::analyzer {

std::string dtype_name(
    int dtype);  // "float32"; "dtype 99" where the number is newer than this program; "unknown" for -1
std::string layout_name(int layout);     // "strided"
std::string device_type_name(int type);  // "cuda"

// A C++ class as std::type_info names it, in words: "N3c1010TensorImplE" -> "c10::TensorImpl". The text comes from a
// dump, so work and result are bounded; what cannot be read stays as it is.
std::string class_name_of(std::string_view mangled);

// The last component of a class name: "torch::autograd::generated::AddmmBackward0" -> "AddmmBackward0".
std::string last_component(std::string_view name);

}  // namespace tensorscope::analyzer
