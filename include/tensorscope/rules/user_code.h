// SPDX-License-Identifier: Apache-2.0
// Whose code a frame is: the user's own, a library's, PyTorch's, the interpreter's. The short report of the target and
// the analyzer use the same rules.
//
// What is PyTorch's in Python is what lies in its package: the folder `torch` of installed packages, or `package`, the
// folder that its own libraries were loaded from (a source build is used where it was built). A folder of the user's
// own that is called torch is the user's.
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

// What follows "/site-packages/" or "/dist-packages/"; empty: the file is not in such a folder.
inline std::string_view in_packages(std::string_view file) {
  for (std::string_view packages : {"site-packages/", "dist-packages/"}) {
    const size_t at = file.rfind(packages);
    if (at != file.npos && (at == 0 || file[at - 1] == '/')) return file.substr(at + packages.size());
  }
  return {};
}

// What follows `folder` and a slash.
inline std::string_view in_folder(std::string_view file, std::string_view folder) {
  const bool inside = !folder.empty() && file.starts_with(folder) && file.substr(folder.size()).starts_with("/");
  return inside ? file.substr(folder.size() + 1) : std::string_view();
}

}  // namespace detail

// ".../torch", PyTorch's Python package, where `library` is one of the two libraries that lie in it and nowhere else:
// ".../torch/_C.cpython-311-x86_64-linux-gnu.so", ".../torch/lib/libtorch_python.so". Else empty.
inline std::string_view torch_package_of(std::string_view library) {
  for (std::string_view name : {"/_C.", "/lib/libtorch_python.so"}) {
    const size_t at = library.rfind(name);
    if (at == library.npos || library.find('/', at + name.size()) != library.npos) continue;
    if (library.substr(0, at).ends_with("/torch")) return library.substr(0, at);
  }
  return {};
}

// "nn/modules/linear.py": where in PyTorch's package a file lies. Empty: not in it.
inline std::string_view in_torch(std::string_view file, std::string_view package = {}) {
  if (const std::string_view inside = detail::in_folder(file, package); !inside.empty()) return inside;
  return detail::in_folder(detail::in_packages(file), "torch");
}

namespace detail {

// Of torch.distributed all but what computes with tensors that are spread over processes.
inline bool communicates(std::string_view inside) {
  if (inside.starts_with("nn/parallel/")) return true;
  if (!inside.starts_with("distributed/")) return false;
  const std::string_view rest = inside.substr(12);
  for (std::string_view computes : {"optim/", "tensor/", "_tensor/", "nn/", "pipelining/"}) {
    if (rest.starts_with(computes)) return false;
  }
  return true;
}

}  // namespace detail

// What PyTorch's code makes tensors for, by the file that it is in. Bits.
enum TorchPart : uint8_t {
  kOptimizer = 1,
  kModuleCode = 2,
  kDataLoading = 4,
  kOtherProcess = 8,    // tensors that were sent by another process
  kCommunication = 16,  // between processes: DistributedDataParallel, FSDP, collectives
  kFunction = 32,       // in a custom autograd function's forward or backward, or in compiled code
  kModuleCall = 64      // in a call of an nn.Module: told by the frame, not by its file
};
// Any of these: computed by a model, and nothing that was given to it.
inline constexpr uint8_t kComputed = kModuleCode | kFunction | kModuleCall;

// `inside`: of in_torch().
inline uint8_t torch_parts(std::string_view inside) {
  return uint8_t((inside.starts_with("optim/") ? kOptimizer : 0) | (inside.starts_with("nn/") ? kModuleCode : 0) |
                 (inside.starts_with("utils/data/") ? kDataLoading : 0) |
                 (inside.starts_with("multiprocessing/reductions") ? kOtherProcess : 0) |
                 (detail::communicates(inside) ? kCommunication : 0) |
                 (inside == "autograd/function.py" || inside.starts_with("_functorch/") ? kFunction : 0));
}

// Which of a caller's parts hold for what it calls: an optimizer or a module made it itself where nothing but PyTorch's
// code is between; a batch is being loaded whatever the program's data set calls; communication does not call on.
inline uint8_t inherited_parts(bool by_torch) {
  return uint8_t(kDataLoading | kOtherProcess | kFunction | kModuleCall | (by_torch ? kOptimizer | kModuleCode : 0));
}

// What is known of a Python frame: by its own file, by whether it is the call of a module, by its caller.
inline uint8_t frame_parts(uint8_t of_file, bool module_call, bool by_torch, uint8_t of_caller) {
  return uint8_t(of_file | (module_call ? kModuleCall : 0) | (of_caller & inherited_parts(by_torch)));
}

// The same of a function of libtorch's own: kModuleCode stands for a module that is being made.
inline uint8_t native_parts(std::string_view function) {
  const auto has = [&](std::string_view part) { return detail::contains(function, part); };
  return uint8_t((has("torch::optim::") ? kOptimizer : 0) |
                 (has("torch::nn::") && (has("::reset") || has("::register_")) ? kModuleCode : 0) |
                 (has("torch::data::") ? kDataLoading : 0) | (has("c10d::") ? kCommunication : 0));
}

// `file` as a code object names it: "/home/u/train.py", "<stdin>", "<frozen importlib._bootstrap>".
inline Owner python_owner(std::string_view file, std::string_view package = {}) {
  if (file.empty()) return Owner::system;
  if (file.front() == '<') {
    // Typed at a prompt or given with -c. All other names in brackets are code that some library made.
    if (file == "<stdin>" || file == "<string>" || file.starts_with("<ipython-input")) return Owner::user;
    return file.starts_with("<frozen") ? Owner::system : Owner::library;
  }
  if (detail::contains(file, "/torchinductor_") || !in_torch(file, package).empty()) return Owner::torch;
  const std::string_view above = package.substr(0, package.empty() ? 0 : package.rfind('/'));
  if (const std::string_view inside = detail::in_packages(file); !inside.empty()) {
    return inside.starts_with("functorch/") ? Owner::torch : Owner::library;
  }
  if (detail::in_folder(file, above).starts_with("functorch/")) return Owner::torch;
  return detail::in_standard_library(file) ? Owner::system : Owner::user;
}

namespace detail {

// How many characters at the end of a code object's name are that of a comprehension. 0: it is none.
inline size_t comprehension_at_end(std::string_view function, bool generators_too) {
  for (std::string_view name : {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}) {
    if (function.ends_with(name) && (generators_too || name != "<genexpr>")) return name.size();
  }
  return 0;
}

}  // namespace detail

// A list, set or dict comprehension that has a frame of its own (up to CPython 3.11): what called it is the function
// that it is written in.
inline bool is_comprehension(std::string_view function) { return detail::comprehension_at_end(function, false) != 0; }

// The function that a comprehension or generator expression is written in: "load" for "load.<locals>.<listcomp>". Other
// names stay as they are. `qualified`: names of code objects are (from CPython 3.11 on), so that what stands alone
// is of a script's or module's top level; else it is not known: empty.
inline std::string_view enclosing_function(std::string_view function, bool qualified) {
  while (const size_t length = detail::comprehension_at_end(function, true)) {
    function.remove_suffix(length);
    if (function.empty()) return qualified ? "<module>" : "";
    for (std::string_view joint : {".<locals>.", "."}) {
      if (!function.ends_with(joint)) continue;
      function.remove_suffix(joint.size());
      break;
    }
  }
  return function;
}

// The same path for a person: named from the folder of packages, from the program's directory or from the standard
// library's on, where it lies in one of them.
inline std::string_view short_path(std::string_view path, std::string_view directory) {
  if (const std::string_view inside = detail::in_packages(path); !inside.empty()) return inside;
  if (directory.size() > 1) {
    if (const std::string_view inside = detail::in_folder(path, directory); !inside.empty()) return inside;
  }
  const size_t at = path.rfind("/lib/python");
  return at != path.npos && path.find('/', at + 11) != path.npos ? path.substr(at + 5) : path;
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
  // What torch/include holds, wherever that folder was when the program was compiled.
  for (std::string_view headers : {"/include/torch/csrc/", "/include/torch/headeronly/", "/include/torch/library.h",
                                   "/include/torch/custom_class", "/include/ATen/", "/include/c10/"}) {
    if (detail::contains(file, headers)) return Owner::torch;
  }
  // Inline functions and templates of the system's headers: /usr/include/x86_64-linux-gnu/bits, the compiler's own.
  if (file.starts_with("/usr/include/") || detail::contains(file, "/lib/gcc/")) return Owner::system;
  if (file.starts_with("/usr/local/include/") || detail::contains(file, "/site-packages/")) return Owner::library;
  return detail::contains(object, ".so") ? Owner::library : Owner::user;
}

// "_PyEval_EvalFrameDefault", the function that is on the stack once for every native call of the interpreter.
inline bool is_eval_frame(std::string_view function) { return function == "_PyEval_EvalFrameDefault"; }

// torch's own steps from an operation down to the memory it asks for: "c10::cuda::CUDACachingAllocator::...",
// "at::detail::empty_cuda".
inline bool is_allocator(std::string_view function) {
  for (std::string_view name :
       {"c10::", "at::detail::empty", "at::detail::_empty", "at::meta::", "at::native::empty", "at::native::resize",
        "at::cuda::", "at::_ops::empty", "at::_ops::resize", "at::empty", "at::(anonymous namespace)::"}) {
    if (function.starts_with(name)) return true;
  }
  return false;
}

// torch's way from an operation to who observes it, as --find-nan does: where the observer was called is no place of
// the program.
inline bool is_observed(std::string_view function) { return function.starts_with("at::RecordFunction::"); }

// "add_Tensor" of "at::_ops::add_Tensor::redispatch", one of the dispatcher's own steps to an operation: the name and
// the overload's. Empty: no such step.
inline std::string_view dispatched_overload(std::string_view function) {
  constexpr std::string_view kOps = "at::_ops::";
  if (!function.starts_with(kOps)) return {};
  function.remove_prefix(kOps.size());
  const size_t end = function.find("::");
  if (end == function.npos) return {};
  const std::string_view step = function.substr(end);
  if (step != "::call" && step != "::redispatch") return {};
  return function.substr(0, end);
}

// "add" of the same: as torch's profiler names it, "aten::" left out. Only an overload that begins with a capital
// letter differs from the name.
inline std::string_view dispatched_operation(std::string_view function) {
  const std::string_view name = dispatched_overload(function);
  for (size_t i = 1; i + 1 < name.size(); i++) {
    if (name[i] == '_' && name[i + 1] >= 'A' && name[i + 1] <= 'Z') return name.substr(0, i);
  }
  return name;
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
