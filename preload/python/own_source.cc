// SPDX-License-Identifier: Apache-2.0
#include "python/own_source.h"

#include "python/objects.h"
#include "python/untraced.h"

namespace tensorscope::python {

namespace {

bool give(const Gil& gil, Object* globals, const char* name, Object* object) {
  return object && gil->PyDict_SetItemString(globals, name, object) == 0;
}

bool run(const Gil& gil, const char* source, Object* globals) {
  const Owned text(gil, gil->PyUnicode_DecodeFSDefault(source));
  if (!text || !give(gil, globals, "tensorscope_source", text.get())) return false;
  const Untraced untraced(*gil.operator->());
  constexpr char kRun[] = "exec(compile(tensorscope_source, '<tensorscope>', 'exec'))";
  return bool(Owned(gil, gil->PyRun_String(kRun, kFileInput, globals, globals)));
}

}  // namespace

Object* own_globals(const Gil& gil, std::initializer_list<MethodDefinition*> functions,
                    std::initializer_list<GivenObject> objects) {
  Object* const globals = gil->PyDict_New();
  bool done = globals != nullptr;
  for (MethodDefinition* method : functions) {
    const Owned function(gil, done ? gil->PyCFunction_NewEx(method, nullptr, nullptr) : nullptr);
    done = done && give(gil, globals, method->name, function.get());
  }
  for (const GivenObject& each : objects) done = done && give(gil, globals, each.name, each.object);
  if (done) return globals;
  gil->PyErr_Clear();
  if (globals) gil->Py_DecRef(globals);
  return nullptr;
}

Object* run_own_source(const Gil& gil, const char* source, std::initializer_list<MethodDefinition*> functions,
                       std::initializer_list<GivenObject> objects) {
  Object* const globals = own_globals(gil, functions, objects);
  if (!globals) return nullptr;
  if (run(gil, source, globals)) return globals;
  gil->PyErr_Clear();
  gil->Py_DecRef(globals);
  return nullptr;
}

}  // namespace tensorscope::python
