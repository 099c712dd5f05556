// Graphviz' `dot`, where this machine has it.
#pragma once

#include <string>

namespace tensorscope::cli {

// Draws `dot` as `format` ("svg", "png") into `picture`. Returns "" or one sentence on why not. No shell is involved.
std::string draw_with_graphviz(const std::string& dot, const std::string& format, std::string& picture);

}  // namespace tensorscope::cli
