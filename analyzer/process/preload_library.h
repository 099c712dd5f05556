// Where libtensorscope.so is: TENSORSCOPE_LIB, or with this program in a build tree, an installation or a Python
// environment.
#pragma once

#include <optional>
#include <string>

namespace tensorscope::process {

// An absolute path that LD_PRELOAD can carry; else nothing, and `problem` is one line for a person. Only
// TENSORSCOPE_LIB may name a library of another version.
std::optional<std::string> find_preload_library(std::string& problem);

// bin/ of the Python environment (venv, conda) that this program is installed in; empty where it is in none, where that
// folder is in PATH, or where the program was called by a link in another folder.
std::string own_environment();

}  // namespace tensorscope::process
