// SPDX-License-Identifier: Apache-2.0
#include "python/module_entry.h"

#include <string.h>

#include <cstdint>

#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"

namespace tensorscope::python {

namespace {

constexpr size_t kArgumentsOffset = size_t{1} << 63;  // PY_VECTORCALL_ARGUMENTS_OFFSET (Include/cpython/abstract.h)
constexpr size_t kMaxObservers = 4;

// Under the GIL.
Vectorcall g_interpreters_entry = nullptr;
ModuleCallObserver g_observers[kMaxObservers];
size_t g_observer_count = 0;

bool stands_for_a_tensor(const Gil& gil, const Object* object) {
  const char* const name = class_name(gil, object);
  return strcmp(name, "FakeTensor") == 0 || strcmp(name, "FunctionalTensor") == 0;
}

bool is_seen(const Gil& gil, const ModuleCall& call) {
  const ptrdiff_t all = call.count + (call.keywords ? gil->PyTuple_Size(call.keywords) : 0);
  for (ptrdiff_t i = 0; i < all; ++i) {
    if (stands_for_a_tensor(gil, call.arguments[i])) return false;
  }
  return true;
}

[[gnu::noinline]] bool tell_begin(const ModuleCall& call) {
  const Gil gil = Gil::held(*known_interpreter());
  if (!is_seen(gil, call)) return false;
  for (size_t i = 0; i < g_observer_count; ++i) {
    if (g_observers[i].begins) g_observers[i].begins(gil, call);
  }
  return true;
}

[[gnu::noinline]] void tell_end(ModuleCall& call) {
  const Gil gil = Gil::held(*known_interpreter());
  Object *raised = nullptr, *value = nullptr, *traceback = nullptr;
  if (!call.result) gil->PyErr_Fetch(&raised, &value, &traceback);
  call.exception = raised;
  for (size_t i = g_observer_count; i-- > 0;) g_observers[i].ends(gil, call);
  if (!call.result) gil->PyErr_Restore(raised, value, traceback);
}

// No object with a destructor is alive while the module runs: a thread may end in it (pthread_exit at the interpreter's
// end).
Object* entered(Object* function, Object* const* arguments, size_t flagged_count, Object* keywords) {
  const auto count = ptrdiff_t(flagged_count & ~kArgumentsOffset);
  if (count < 1) return g_interpreters_entry(function, arguments, flagged_count, keywords);
  ModuleCall call = {arguments[0], arguments + 1, count - 1, keywords, __builtin_frame_address(0)};
  const bool seen = tell_begin(call);
  Object* const result = g_interpreters_entry(function, arguments, flagged_count, keywords);
  call.result = result;
  if (seen) tell_end(call);
  return result;
}

Vectorcall* entry_of(Object* function, ptrdiff_t offset) {
  return reinterpret_cast<Vectorcall*>(reinterpret_cast<char*>(function) + offset);
}

// Returns where PyFunctionObject has its entry, 0 if that is not known. The functions of a module written in Python
// alone all have the interpreter's.
ptrdiff_t offset_of_entry(const Gil& gil, Object* function, Object* other) {
  const ptrdiff_t offset = heap_inspector::vectorcall_offset_of(gil->PyFunction_Type);
  const ptrdiff_t size = heap_inspector::basic_size_of(gil->PyFunction_Type);
  if (offset <= 0 || offset % ptrdiff_t(sizeof(Vectorcall)) != 0 || offset + ptrdiff_t(sizeof(Vectorcall)) > size)
    return 0;
  const Vectorcall own = *entry_of(function, offset);
  if (!own || own != *entry_of(other, offset)) return 0;
  if (gil->PyVectorcall_Function && own != gil->PyVectorcall_Function(function)) return 0;
  if (gil->_PyFunction_Vectorcall && own != gil->_PyFunction_Vectorcall) return 0;
  return gil->PyVectorcall_Function || gil->_PyFunction_Vectorcall ? offset : 0;
}

Status replace_entry(const Gil& gil) {
  Object* module = entry(gil, module_globals(gil, "torch.nn.modules.module"), "Module");
  if (!module || !heap_inspector::check_type_fields(gil) || !is_a(gil, module, gil->PyType_Type)) {
    return Status::failed("torch.nn.Module is not a class as CPython has them");
  }
  Object* function = entry(gil, heap_inspector::class_dict_of(module), "_call_impl");
  Object* other = entry(gil, heap_inspector::class_dict_of(module), "register_forward_hook");
  for (const Object* each : {function, other}) {
    if (!each || !is_exactly(each, gil->PyFunction_Type))
      return Status::failed("torch.nn.Module has other functions than were known");
  }
  const ptrdiff_t offset = offset_of_entry(gil, function, other);
  if (offset == 0) return Status::failed("this interpreter enters its functions in another way");
  g_interpreters_entry = *entry_of(function, offset);
  if (gil->PyFunction_SetVectorcall) {
    gil->PyFunction_SetVectorcall(function, entered);
  } else {
    *entry_of(function, offset) = entered;
  }
  return Status::done();
}

}  // namespace

Status observe_module_calls(const Gil& gil, const ModuleCallObserver& observer) {
  if (g_observer_count == kMaxObservers) return Status::failed("too many observers of module calls");
  if (!g_interpreters_entry) {
    if (const Status replaced = replace_entry(gil); !replaced) return replaced;
  }
  g_observers[g_observer_count++] = observer;
  return Status::done();
}

}  // namespace tensorscope::python
