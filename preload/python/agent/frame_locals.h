// The local variables of running functions, read from the interpreter's frames. frame.f_locals is no way to them: up to
// CPython 3.12 reading it writes into the dict that the function's own locals() call returned, and keeps every value
// alive until the function returns.
#pragma once

#include <string>
#include <vector>

#include "python/interpreter.h"

namespace tensorscope::python::agent {

struct Local {
  std::string name;
  Object* object;  // borrowed: valid while the GIL is held
};

// Context: agent, once, before the first look. Calls a small function of our own and compares what is read with what it
// was called with. On a mismatch locals stay unread for good. May give the GIL up meanwhile.
bool check_locals(const Gil& gil);

// Every local variable of every running function: threads in the order of their creation, outermost function first.
std::vector<Local> running_locals(const Gil& gil);

}  // namespace tensorscope::python::agent
