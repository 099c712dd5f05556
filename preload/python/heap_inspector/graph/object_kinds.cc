// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/object_kinds.h"

#include <cstring>

#include "python/heap_inspector/foreign/arrow_memory.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"
#include "support/loaded_object.h"
#include "support/spread_bits.h"

namespace tensorscope::python::heap_inspector {

namespace {

Object* class_in(const Gil& gil, const char* module, const char* name) {
  Object* found = entry(gil, module_globals(gil, module), name);
  return found && has_flag(found, type_flags::kType) ? found : nullptr;
}

bool begins_with(const char* name, const char* with) { return name && strncmp(name, with, strlen(with)) == 0; }

// What torch's C++ code names "torch." and is a value, or known otherwise: nodes, and storages by their tensors.
bool is_value_of_torch(const char* name) {
  for (const char* known : {"torch.dtype", "torch.device", "torch.layout", "torch.memory_format", "torch.qscheme",
                            "torch.Size", "torch.finfo", "torch.iinfo", "torch._C._FunctionBase",
                            "torch._C.StorageBase", "torch._C._StorageBase", "torch._C._TensorMeta"}) {
    if (strcmp(name, known) == 0) return true;
  }
  return false;
}

// Of such objects all memory is known, or there is none to speak of.
bool has_known_memory(const char* name) {
  for (const char* known : {"numpy.", "datetime.", "_datetime.", "decimal.", "_cython_", "cython_function", "array."}) {
    if (begins_with(name, known)) return true;
  }
  return false;
}

// By the metaclass of a class of the line (pybind11_type, nb_type_0), by the name that torch's C++ code gave one, or
// since code outside of the interpreter frees its objects; classes of Python inherit the interpreter's function
// (subtype_dealloc, Objects/typeobject.c, 3.8 to 3.15). Values of an enum are none.
bool is_class_of_extension(const Gil& gil, Object* type, const KnownClasses& classes) {
  const bool own_dict = (flags_of(type) & type_flags::kHeapType) != 0;
  if (own_dict && entry(gil, class_dict_of(type), "__entries")) return false;
  for (Object* base = type; base; base = base_of(base)) {
    const char* maker = gil->PyExceptionClass_Name(type_of(base));
    if (begins_with(maker, "pybind11_type") || begins_with(maker, "nb_type")) return true;
    const char* name = gil->PyExceptionClass_Name(base);
    const bool made_by_c = (flags_of(base) & type_flags::kHeapType) == 0;
    if (made_by_c && begins_with(name, "torch.")) return !is_value_of_torch(name);
    if (dealloc_of(base) != 0 && !classes.in_interpreter(dealloc_of(base))) return !has_known_memory(name);
  }
  return false;
}

void find_interpreter(const Gil& gil, KnownClasses& classes) {
  const uint64_t inside = dealloc_of(gil->PyCell_Type);
  visit_objects([&](const LoadedObject& object) {
    if (inside < object.begin || inside >= object.end) return true;
    classes.interpreter_begin = object.begin;
    classes.interpreter_end = object.end;
    return false;
  });
}

}  // namespace

KnownClasses KnownClasses::find(const Gil& gil) {
  KnownClasses classes;
  classes.tensor = class_in(gil, "torch._C", "TensorBase");
  if (!classes.tensor) classes.tensor = class_in(gil, "torch._C", "_TensorBase");  // up to torch 2.0
  classes.parameter = class_in(gil, "torch.nn.parameter", "Parameter");
  classes.nn_module = class_in(gil, "torch.nn.modules.module", "Module");
  classes.optimizer = class_in(gil, "torch.optim.optimizer", "Optimizer");
  classes.array = class_in(gil, "numpy", "ndarray");
  classes.array_descriptor = class_in(gil, "numpy", "dtype");
  classes.context = class_in(gil, "_contextvars", "Context");
  classes.context_variable = class_in(gil, "_contextvars", "ContextVar");
  classes.profiler = class_in(gil, "torch.autograd.profiler", "profile");
  classes.dataset = class_in(gil, "torch.utils.data.dataset", "Dataset");
  classes.kv_cache = class_in(gil, "transformers.cache_utils", "Cache");
  classes.kv_layer = class_in(gil, "transformers.cache_utils", "CacheLayerMixin");
  size_t next = 0;
  for (const char* name : {"ScriptModule", "ScriptObject", "ScriptList", "ScriptDict", "Future"})
    classes.script[next++] = class_in(gil, "torch._C", name);
  classes.script[next++] = class_in(gil, "torch._C._autograd", "SavedTensor");
  find_interpreter(gil, classes);
  return classes;
}

Kind Kinds::find(Object* type) const {
  const auto derived = [&](Object* known) { return known && gil_->PyType_IsSubtype(type, known) != 0; };
  if (derived(classes_.tensor)) return Kind::tensor;
  if (derived(classes_.nn_module)) return Kind::nn_module;
  if (derived(classes_.optimizer)) return Kind::optimizer;
  const unsigned long flags = flags_of(type);
  if (flags & type_flags::kType) return Kind::type;
  if (flags & type_flags::kDict || derived(gil_->PyFrozenDict_Type)) return Kind::dict;
  if (flags & type_flags::kList) return Kind::list;
  if (flags & type_flags::kTuple) return Kind::tuple;
  if (flags & type_flags::kException) return Kind::exception;
  if (derived(gil_->PyModule_Type)) return Kind::module;
  if (derived(gil_->PySet_Type) || derived(gil_->PyFrozenSet_Type)) return Kind::set;
  if (type == gil_->PyTraceBack_Type) return Kind::traceback;
  if (type == gil_->PyFrame_Type) return Kind::frame;
  if (type == gil_->PyGen_Type || type == gil_->PyCoro_Type || type == gil_->PyAsyncGen_Type) return Kind::generator;
  if (type == gil_->PyCell_Type) return Kind::cell;
  if (type == gil_->PyFunction_Type) return Kind::function;
  if (type == gil_->PyMethod_Type) return Kind::method;
  if (type == gil_->PyCFunction_Type) return Kind::builtin_function;
  if (type == gil_->PyDictProxy_Type) return Kind::mapping_proxy;
  if (derived(gil_->_PyWeakref_RefType)) return Kind::weak_reference;
  if (type == classes_.context) return Kind::context;
  if (type == classes_.context_variable) return Kind::context_variable;
  if (derived(classes_.array)) return Kind::array;
  if (derived(classes_.dataset)) return Kind::dataset;
  if (derived(classes_.profiler)) return Kind::profiler;
  if (derived(classes_.kv_cache) || derived(classes_.kv_layer)) return Kind::kv_cache;
  for (Object* base = type; base; base = base_of(base)) {
    const char* name = gil_->PyExceptionClass_Name(base);  // with its module where C code made it
    if (name && strcmp(name, "_thread._local") == 0) return Kind::thread_local_values;
    if (name && strcmp(name, "collections.deque") == 0) return Kind::deque;
    if (name && strcmp(name, "functools._lru_cache_wrapper") == 0) return Kind::lru_cache;
    if (name && is_arrow_class(name)) return Kind::arrow;
  }
  for (Object* const known : classes_.script) {
    if (derived(known)) return Kind::script;
  }
  if (type == gil_->PyCode_Type) return Kind::other;  // whose deaths a function of ours sees
  if (is_class_of_extension(gil_, type, classes_)) return Kind::cpp_object;
  if ((flags & type_flags::kHeapType) != 0) return Kind::other;
  const char* name = gil_->PyExceptionClass_Name(type);
  if (!name) return Kind::other;
  if (strncmp(name, "hamt", 4) == 0) return Kind::context_map;
  if (strcmp(name, "PyCapsule") == 0) return Kind::capsule;
  const bool buffer = strcmp(name, "memoryview") == 0 || strcmp(name, "managedbuffer") == 0;
  return buffer ? Kind::buffer : Kind::other;
}

Kind Kinds::of_type(Object* type) {
  Remembered& recent = recent_[spread_bits(reinterpret_cast<uintptr_t>(type) >> 4) >> 54];
  if (recent.type != type) recent = {type, find(type)};
  return recent.kind;
}

}  // namespace tensorscope::python::heap_inspector
