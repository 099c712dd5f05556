// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_interpreter.h"

#include <cstdio>
#include <cstring>

#include "support/loaded_object.h"

namespace tensorscope::stacks {

namespace {

bool resolve_api(PythonApi& api) {
  if (!resolve("PyThreadState_GetUnchecked", api.current_thread_state)) {
    resolve("_PyThreadState_UncheckedGet", api.current_thread_state);
  }
  resolve("PyThreadState_GetFrame", api.thread_frame);
  resolve("PyGC_Disable", api.disable_gc);
  resolve("PyGC_Enable", api.enable_gc);
  resolve("_PyRuntime", api.runtime);
  bool whole = api.current_thread_state != nullptr;
  whole &= resolve("PyGILState_GetThisThreadState", api.this_thread_state);
  whole &= resolve("PyCode_Type", api.code_type);
  whole &= resolve("PyCell_Type", api.cell_type);
  whole &= resolve("PyUnicode_Type", api.text_type);
  whole &= resolve("PyBytes_Type", api.bytes_type);
  whole &= resolve("PyEval_GetFrame", api.eval_frame);
  whole &= resolve("PyFrame_GetLineNumber", api.frame_line);
  whole &= resolve("PyObject_GetAttrString", api.get_attribute);
  whole &= resolve("PyUnicode_AsUTF8", api.text);
  whole &= resolve("PyLong_AsLong", api.integer);
  whole &= resolve("Py_IncRef", api.increment);
  whole &= resolve("Py_DecRef", api.decrement);
  whole &= resolve("PyErr_Fetch", api.fetch_error);
  whole &= resolve("PyErr_Restore", api.restore_error);
  whole &= resolve("PyErr_Clear", api.clear_error);
  whole &= resolve("_Py_NoneStruct", api.none);
  whole &= resolve("PyDict_New", api.new_dict);
  whole &= resolve("PyDict_SetItemString", api.set_item);
  whole &= resolve("PyCFunction_NewEx", api.new_function);
  whole &= resolve("PyRun_String", api.run);
  return whole;
}

// "3.11.7 (main, ...) [GCC ...]", "3.14.0rc2 ...". From 3.13 on the debug offsets hold the exact PY_VERSION_HEX.
void read_version(PythonInterpreter& interpreter) {
  const char* text = interpreter.api.get_version();
  size_t length = strcspn(text, " ");
  snprintf(interpreter.version_text, sizeof interpreter.version_text, "%.*s", int(length), text);
  unsigned major = 0, minor = 0, micro = 0;
  sscanf(text, "%u.%u.%u", &major, &minor, &micro);
  interpreter.version = uint64_t{major & 255} << 24 | (minor & 255) << 16 | (micro & 255) << 8;
  const char* runtime = interpreter.api.runtime;
  if (runtime != nullptr && interpreter.version >= 0x030d0000) {
    std::memcpy(&interpreter.version, runtime + 8, sizeof interpreter.version);
  }
}

}  // namespace

Found find_interpreter(PythonInterpreter& interpreter) {
  PythonApi& api = interpreter.api;
  if (!resolve("Py_IsInitialized", api.is_initialized) || api.is_initialized() == 0) return Found::none;
  if (!resolve("Py_GetVersion", api.get_version)) return Found::incomplete;
  bool whole = resolve_api(api);
  read_version(interpreter);
  if (strstr(api.get_version(), "free-threading")) return Found::free_threaded;
  if (!choose_layout(interpreter.version, api.runtime, interpreter.layout)) return Found::unsupported;
  if (!whole || (interpreter.version >= 0x03090000 && api.thread_frame == nullptr)) return Found::incomplete;
  return Found::yes;
}

// The thread that is current and the one that this thread registered: the same only with the GIL. PyGILState_Check says
// yes to every thread once a program has made a sub-interpreter.
bool holds_gil(const PythonApi& api) {
  PyObject* mine = api.this_thread_state();
  return mine != nullptr && api.current_thread_state() == mine;
}

}  // namespace tensorscope::stacks
