// Whose code a frame is: the user's own, a library's, PyTorch's, the interpreter's. Decided by names alone, and by the
// same rules in the short report of the target and in the analyzer.
//
// Context: any. No allocation, no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tensorscope::code {

enum class Owner : uint8_t {
  user,     // the program that is being looked at
  library,  // something installed: site-packages, shared libraries
  torch,    // PyTorch itself, in Python or C++, and code that it generated
  system,   // the standard library, the interpreter, libc
};

namespace detail {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// ".../lib/python3.11/..." and ".../lib/python311.zip/...".
inline bool in_standard_library(std::string_view file) {
  for (std::string_view lib : {"/lib/python", "/lib64/python"}) {
    size_t at = file.find(lib);
    if (at == file.npos) continue;
    size_t version = at + lib.size();
    if (version < file.size() && is_digit(file[version])) return true;
  }
  return false;
}

}  // namespace detail

// `file` as a code object names it: "/home/u/train.py", "<stdin>", "<frozen importlib._bootstrap>".
inline Owner python_owner(std::string_view file) {
  if (file.empty()) return Owner::system;
  if (file.front() == '<') {
    // Typed at a prompt or given with -c. All other names in brackets are code that some library made.
    if (file == "<stdin>" || file == "<string>" || file.starts_with("<ipython-input")) return Owner::user;
    return file.starts_with("<frozen") ? Owner::system : Owner::library;
  }
  if (detail::contains(file, "/torchinductor_")) return Owner::torch;
  for (std::string_view packages : {"site-packages/", "dist-packages/"}) {
    size_t at = file.rfind(packages);
    if (at == file.npos) continue;
    std::string_view inside = file.substr(at + packages.size());
    return inside.starts_with("torch/") || inside.starts_with("functorch/") ? Owner::torch : Owner::library;
  }
  return detail::in_standard_library(file) ? Owner::system : Owner::user;
}

// The interpreter itself: "libpython3.11.so.1.0", "python3.11".
inline bool is_interpreter(std::string_view object) {
  std::string_view rest = object;
  if (rest.starts_with("lib")) rest.remove_prefix(3);
  if (!rest.starts_with("python")) return false;
  rest.remove_prefix(6);
  // python, python3, python3.11, libpython3.11.so.1.0; not python_binding.so
  return rest.empty() || detail::is_digit(rest[0]) || rest[0] == '.';
}

// `object` is the file name of the shared object or program that holds the code: "libtorch_cpu.so". Templates and
// inline functions of PyTorch's and the standard library's headers lie in the program, but are not its own.
inline Owner native_owner(std::string_view object, std::string_view function = "", std::string_view file = "") {
  if (is_interpreter(object)) return Owner::system;
  for (std::string_view name : {"libtorch", "libc10", "libcaffe2", "libshm.so", "_C.cpython", "_C.so", "libaoti"}) {
    if (object.starts_with(name)) return Owner::torch;
  }
  for (std::string_view name :
       {"libc.so", "libc-", "libm.so", "libpthread", "ld-linux", "libstdc++", "libgcc_s", "libdl.so", "librt.so",
        "linux-vdso", "[vdso]", "libgomp", "libomp", "libiomp", "libmkl", "libtensorscope"}) {
    if (object.starts_with(name)) return Owner::system;
  }
  for (std::string_view scope : {"at::", "c10::", "torch::", "caffe2::"}) {
    if (function.starts_with(scope)) return Owner::torch;
  }
  if (function.starts_with("std::") || function.starts_with("__gnu_cxx::") || detail::contains(file, "/include/c++/"))
    return Owner::system;
  for (std::string_view headers : {"/torch/include/", "/include/torch/", "/include/ATen/", "/include/c10/"}) {
    if (detail::contains(file, headers)) return Owner::torch;
  }
  return detail::contains(object, ".so") ? Owner::library : Owner::user;
}

// "_PyEval_EvalFrameDefault", the function that is on the stack once for every native call of the interpreter.
inline bool is_eval_frame(std::string_view function) { return function == "_PyEval_EvalFrameDefault"; }

// torch's own steps from an operation down to the memory it asks for: "c10::cuda::CUDACachingAllocator::...",
// "at::detail::empty_cuda".
inline bool is_allocator(std::string_view function) {
  for (std::string_view name :
       {"c10::", "at::detail::empty", "at::meta::", "at::native::empty", "at::native::resize",
        "at::cuda::", "at::_ops::empty", "at::_ops::resize", "at::empty", "at::(anonymous namespace)::"}) {
    if (function.starts_with(name)) return true;
  }
  return false;
}

// How a process or thread begins, below its own first function: "_start", "__libc_start_main", "clone3".
inline bool is_process_start(std::string_view function) {
  for (std::string_view name : {"_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main",
                                "start_thread", "clone", "clone3", "__clone", "__clone3"}) {
    if (function == name) return true;
  }
  return false;
}

}  // namespace tensorscope::code
