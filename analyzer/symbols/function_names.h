// SPDX-License-Identifier: Apache-2.0
// Symbols as people read functions.
#pragma once

#include <string>
#include <string_view>

namespace tensorscope::analyzer {

// "_ZN2at4_ops3add4callERKNS_6TensorES4_" -> "at::_ops::add::call": demangled, without parameters, return type and
// clone suffix, of bounded length. A plain C symbol loses its compiler-made suffix ("f.cold", "f.part.0") and version.
std::string readable_function(const std::string& symbol);

// The same for text that is already demangled.
std::string without_parameters(std::string_view demangled);

}  // namespace tensorscope::analyzer
