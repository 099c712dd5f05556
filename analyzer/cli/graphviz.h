// SPDX-License-Identifier: Apache-2.0
// Graphviz' `dot`, where this machine has it.
#pragma once

#include <string>

namespace tensorscope::cli {

// Returns the picture of `dot` in `format` ("svg", "png"). Throws OutputError. No shell is involved.
[[nodiscard]] std::string draw_with_graphviz(const std::string& dot, const std::string& format);

}  // namespace tensorscope::cli
