// Whose code a frame is: the user's own, a library's, PyTorch's, the interpreter's. Decided by names alone.
#pragma once

#include <string_view>

#include "model/dump.h"

namespace tensorscope::model {

enum class Owner : uint8_t {
  user,     // the program that is being looked at
  library,  // something installed: site-packages, shared libraries
  torch,    // PyTorch itself, in Python or C++, and code that it generated
  system,   // the standard library, the interpreter, libc
};

// `file` as a code object names it: "/home/u/train.py", "<stdin>", "<frozen importlib._bootstrap>".
Owner python_owner(std::string_view file);

// `object` is the file name of the shared object or program that holds the code: "libtorch_cpu.so". Templates and
// inline functions of PyTorch's and the standard library's headers lie in the program, but are not its own.
Owner native_owner(std::string_view object, std::string_view function = "", std::string_view file = "");

// The interpreter itself: "libpython3.11.so.1.0", "python3.11".
bool is_interpreter(std::string_view object);

// "_PyEval_EvalFrameDefault", the function that is on the stack once for every native call of the interpreter.
bool is_eval_frame(std::string_view function);

// torch's own steps from an operation down to the memory it asks for: "c10::cuda::CUDACachingAllocator::...",
// "at::detail::empty_cuda".
bool is_allocator(std::string_view function);

// How a process or thread begins, below its own first function: "_start", "__libc_start_main", "clone3".
bool is_process_start(std::string_view function);

}  // namespace tensorscope::model
