// SPDX-License-Identifier: Apache-2.0
// Where libtensorscope.so is: TENSORSCOPE_LIB, or with this program in a build tree, an installation or a Python
// environment.
#pragma once

#include <string>

namespace tensorscope::process {

// An absolute path that LD_PRELOAD can carry. Only TENSORSCOPE_LIB may name a library of another version. Throws
// BadInput.
[[nodiscard]] std::string find_preload_library();

// bin/ of the Python environment (venv, conda) that this program is installed in; empty where it is in none, where that
// folder is in PATH, or where the program was called by a link in another folder.
std::string own_environment();

}  // namespace tensorscope::process
