#include "model/user_code.h"

#include <cctype>

namespace tensorscope::model {

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// ".../lib/python3.11/..." and ".../lib/python311.zip/...".
bool in_standard_library(std::string_view file) {
  for (std::string_view lib : {"/lib/python", "/lib64/python"}) {
    size_t at = file.find(lib);
    if (at == file.npos) continue;
    size_t version = at + lib.size();
    if (version < file.size() && isdigit(static_cast<unsigned char>(file[version]))) return true;
  }
  return false;
}

}  // namespace

Owner python_owner(std::string_view file) {
  if (file.empty()) return Owner::system;
  if (file.front() == '<') {
    // Typed at a prompt or given with -c. All other names in brackets are code that some library made.
    if (file == "<stdin>" || file == "<string>" || file.starts_with("<ipython-input")) return Owner::user;
    return file.starts_with("<frozen") ? Owner::system : Owner::library;
  }
  if (contains(file, "/torchinductor_")) return Owner::torch;
  for (std::string_view packages : {"site-packages/", "dist-packages/"}) {
    size_t at = file.rfind(packages);
    if (at == file.npos) continue;
    std::string_view inside = file.substr(at + packages.size());
    return inside.starts_with("torch/") || inside.starts_with("functorch/") ? Owner::torch : Owner::library;
  }
  return in_standard_library(file) ? Owner::system : Owner::user;
}

bool is_interpreter(std::string_view object) {
  std::string_view rest = object;
  if (rest.starts_with("lib")) rest.remove_prefix(3);
  if (!rest.starts_with("python")) return false;
  rest.remove_prefix(6);
  // python, python3, python3.11, libpython3.11.so.1.0; not python_binding.so
  return rest.empty() || isdigit(static_cast<unsigned char>(rest[0])) || rest[0] == '.';
}

Owner native_owner(std::string_view object, std::string_view function, std::string_view file) {
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
  if (function.starts_with("std::") || function.starts_with("__gnu_cxx::") || contains(file, "/include/c++/"))
    return Owner::system;
  for (std::string_view headers : {"/torch/include/", "/include/torch/", "/include/ATen/", "/include/c10/"}) {
    if (contains(file, headers)) return Owner::torch;
  }
  return contains(object, ".so") ? Owner::library : Owner::user;
}

bool is_eval_frame(std::string_view function) { return function == "_PyEval_EvalFrameDefault"; }

bool is_allocator(std::string_view function) {
  for (std::string_view name :
       {"c10::", "at::detail::empty", "at::meta::", "at::native::empty", "at::native::resize",
        "at::cuda::", "at::_ops::empty", "at::_ops::resize", "at::empty", "at::(anonymous namespace)::"}) {
    if (function.starts_with(name)) return true;
  }
  return false;
}

bool is_process_start(std::string_view function) {
  for (std::string_view name : {"_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main",
                                "start_thread", "clone", "clone3", "__clone", "__clone3"}) {
    if (function == name) return true;
  }
  return false;
}

}  // namespace tensorscope::model
