// Where libtensorscope.so is: TENSORSCOPE_LIB, or beside this program in a build tree or an installation.
#pragma once

#include <optional>
#include <string>

namespace tensorscope::cli {

// An absolute path that LD_PRELOAD can carry; else nothing, and `problem` is one line for a person.
std::optional<std::string> find_preload_library(std::string& problem);

}  // namespace tensorscope::cli
