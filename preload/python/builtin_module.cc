// SPDX-License-Identifier: Apache-2.0
#include "python/builtin_module.h"

#include <limits.h>

#include "python/method.h"
#include "python/named_tensors.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "support/enough_memory.h"
#include "support/state.h"
#include "tensorscope/tensorscope.h"

// Weak: resolved by the loader when this library is, null where no start-up object is a Python.
extern "C" {
__attribute__((weak)) int PyImport_AppendInittab(const char* name, tensorscope::python::Object* (*initialise)());
__attribute__((weak)) const char* Py_GetVersion();
__attribute__((weak)) int Py_IsInitialized();
__attribute__((weak)) int Py_IsFinalizing();   // from 3.13 on
__attribute__((weak)) int _Py_IsFinalizing();  // before
}

namespace tensorscope::python {

namespace {

// PyModuleDef (Include/moduleobject.h, the same in 3.8 to 3.14 with a GIL).
struct ModuleDefinition {
  intptr_t references;
  Object* type;
  void* base[3];
  const char* name;
  const char* doc;
  intptr_t size;
  MethodDefinition* methods;
  void* slots;
  void* traverse;
  void* clear;
  void* free;
};
constexpr int kApiVersion = 1013;  // PYTHON_API_VERSION (Include/modsupport.h)

Object* dump(Object*, Object*) {
  const Api& api = *known_interpreter();
  char path[PATH_MAX];
  return tensorscope_try_dump(path, sizeof path) == TENSORSCOPE_OK ? api.PyUnicode_DecodeFSDefault(path)
                                                                   : new_none(api);
}

Object* active(Object*, Object*) { return known_interpreter()->PyBool_FromLong(tensorscope_is_active()); }

Object* stop(Object*, Object*) {
  tensorscope_try_stop();
  return new_none(*known_interpreter());
}
Object* start(Object*, Object*) {
  tensorscope_try_start();
  return new_none(*known_interpreter());
}

Object* start_recording(Object*, Object*) {
  tensorscope_try_start_recording();
  return new_none(*known_interpreter());
}
Object* stop_recording(Object*, Object*) {
  tensorscope_try_stop_recording();
  return new_none(*known_interpreter());
}

// Whatever it is given, the program goes on.
Object* name(Object*, Object* arguments) {
  const Api& api = *known_interpreter();
  const Gil gil = Gil::held(api);
  if (api.PyTuple_Size(arguments) != 2) {
    api.PyErr_SetString(*reinterpret_cast<Object**>(api.PyExc_TypeError), "name() takes a tensor and a string");
    return nullptr;
  }
  Object* tensor = api.PyTuple_GetItem(arguments, 0);
  const InsideScope inside;
  run_or_abandon_on_oom([&] { name_tensor(gil, tensor, text_of(gil, api.PyTuple_GetItem(arguments, 1))); });
  api.Py_IncRef(tensor);
  return tensor;
}

constexpr size_t kMaxFunctions = 16;  // one stays empty: the end
MethodDefinition g_methods[kMaxFunctions] = {
    {"dump", dump, kNoArguments,
     "dump()\n--\n\nWrites a dump of all live tensors, waits for it and returns its path. Returns None if there is "
     "nothing to dump or the dump could not be written."},
    {"name", name, kArguments,
     "name(tensor, text)\n--\n\nNames a tensor for dumps, as long as the tensor lives. Returns the tensor."},
    {"stop", stop, kNoArguments,
     "stop()\n--\n\nStops recording stacks until start(). Tensors and memory are still tracked; dumps mark what has no "
     "stack."},
    {"start", start, kNoArguments, "start()\n--\n\nResumes recording stacks."},
    {"start_recording", start_recording, kNoArguments,
     "start_recording()\n--\n\nRecords every allocation, release and tensor from now on, into a .recording file."},
    {"stop_recording", stop_recording, kNoArguments,
     "stop_recording()\n--\n\nEnds what start_recording() began; the file goes on with the next start."},
    {"active", active, kNoArguments, "active()\n--\n\nTrue while tensorscope records this process."},
};
ModuleDefinition g_module = {1,
                             nullptr,
                             {},
                             "libtensorscope",
                             "tensorscope in this process: ask for a dump from inside the program.",
                             0,
                             g_methods,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr};
bool g_registered = false;

struct BuiltinClass {
  const char* name = nullptr;
  const char* source = nullptr;
  MethodDefinition function;
};
BuiltinClass g_class;

Object* make_module(const Gil& gil) {
  Object* module = gil->PyModule_Create2(&g_module, kApiVersion);
  if (!module || !g_class.name) return module;
  const Owned globals(gil, run_own_source(gil, g_class.source, {&g_class.function}));
  if (!globals) return module;
  Object* made = entry(gil, globals.get(), g_class.name);
  if (made) gil->PyDict_SetItemString(gil->PyModule_GetDict(module), g_class.name, made);
  return module;
}

// Called by `import libtensorscope`, on the importing thread, with the GIL.
Object* initialise() {
  const Api* api = find_interpreter();
  return api ? make_module(Gil::held(*api)) : nullptr;
}

}  // namespace

void add_builtin_function(const MethodDefinition& function) {
  for (size_t i = 0; i + 1 < kMaxFunctions; ++i) {
    if (g_methods[i].name) continue;
    g_methods[i] = function;
    return;
  }
}

void add_builtin_class(const char* name, const char* source, const MethodDefinition& function) {
  g_class = {name, source, function};
}

void register_builtin_module() {
  if (!PyImport_AppendInittab || !Py_GetVersion || usable_series(Py_GetVersion()) == 0) return;
  if (!Py_IsInitialized || Py_IsInitialized()) return;  // the library was loaded late
  // An interpreter that ends says that it is not initialised, and from 3.12 on ends the process when asked for more
  // modules.
  if (Py_IsFinalizing ? Py_IsFinalizing() : _Py_IsFinalizing && _Py_IsFinalizing()) return;
  g_registered = PyImport_AppendInittab("libtensorscope", initialise) == 0;
}

void add_builtin_module_late(const Gil& gil) {
  Object* modules = gil->PyImport_GetModuleDict();
  if (g_registered || entry(gil, modules, "libtensorscope")) return;
  const Owned module(gil, make_module(gil));
  if (module) gil->PyDict_SetItemString(modules, "libtensorscope", module.get());
}

}  // namespace tensorscope::python
