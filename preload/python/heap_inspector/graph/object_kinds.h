// SPDX-License-Identifier: Apache-2.0
// The kinds of objects that the heap inspector distinguishes, by the type alone.
//
// Context: heap inspector.
#pragma once

#include <cstdint>

#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

enum class Kind : uint8_t {
  other,
  tensor,
  nn_module,
  optimizer,
  type,
  module,  // of Python
  exception,
  traceback,
  frame,
  generator,  // and coroutines
  cell,
  function,
  method,            // bound
  builtin_function,  // perhaps bound
  dict,
  list,
  tuple,
  set,
  deque,
  mapping_proxy,
  weak_reference,
  array,   // of numpy
  buffer,  // memoryview and what is behind it
  capsule,
  arrow,                // of pyarrow, with memory
  thread_local_values,  // threading.local
  lru_cache,            // a function with a cache of functools
  context,              // of contextvars
  context_variable,
  context_map,  // what a context keeps its values in
  dataset,      // of torch.utils.data
  kv_cache,     // of transformers, a layer of one too
  profiler,     // torch.autograd.profiler.profile
  script,       // a value of TorchScript (torch._C.ScriptModule, ScriptList, Future and others), or a SavedTensor
  cpp_object,   // of a class of an extension's C, C++ or Rust code, which may have memory that Python does not know
};

// An object of C++ whose contents tp_traverse does not report.
constexpr bool is_cpp_kind(Kind kind) { return kind == Kind::cpp_object || kind == Kind::script; }

// The program's classes that matter; each may be null.
struct KnownClasses {
  Object* tensor = nullptr;     // torch._C.TensorBase
  Object* parameter = nullptr;  // torch.nn.Parameter
  Object* nn_module = nullptr;
  Object* optimizer = nullptr;
  Object* array = nullptr;             // numpy.ndarray
  Object* array_descriptor = nullptr;  // numpy.dtype
  Object* context = nullptr;
  Object* context_variable = nullptr;
  Object* dataset = nullptr;   // torch.utils.data.Dataset
  Object* kv_cache = nullptr;  // transformers' Cache
  Object* profiler = nullptr;  // torch.autograd.profiler.profile
  Object* kv_layer = nullptr;  // what one is made of, from transformers 4.54 on
  // torch._C: ScriptModule, ScriptObject, ScriptList, ScriptDict, Future, _autograd.SavedTensor
  Object* script[6] = {};
  uint64_t interpreter_begin = 0, interpreter_end = 0;  // where the interpreter's code is loaded; 0: not known
  // True where it is not known where the interpreter's code is.
  bool in_interpreter(uint64_t code) const {
    return interpreter_end == 0 || (code >= interpreter_begin && code < interpreter_end);
  }
  static KnownClasses find(const Gil& gil);
};

class Kinds {
 public:
  Kinds(const Gil& gil, const KnownClasses& classes) : gil_(gil), classes_(classes) {}
  Kind of_type(Object* type);
  const KnownClasses& classes() const { return classes_; }

 private:
  struct Remembered {
    const Object* type = nullptr;
    Kind kind = Kind::other;
  };
  Kind find(Object* type) const;

  const Gil& gil_;
  const KnownClasses& classes_;
  Remembered recent_[1024];
};

}  // namespace tensorscope::python::heap_inspector
