// SPDX-License-Identifier: Apache-2.0
// What the main script is called: the same in every dump of a run. CPython takes `__file__` out of the script's globals
// when the script has ended, before atexit's functions run, so the name is kept from the first look on.
//
// Context: heap inspector.
#pragma once

#include <string>

#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

// "train.py"; "__main__" where there never was a file (-c, standard input, an interactive interpreter).
std::string main_script(const Gil& gil);

}  // namespace tensorscope::python::heap_inspector
