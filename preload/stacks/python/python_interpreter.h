// SPDX-License-Identifier: Apache-2.0
// The interpreter in this process: its version, the layout that fits, and the few functions of its C API that stacks
// need, all found at run time among the loaded objects. Nothing is compiled against Python.
//
// Context: find_interpreter() in activation or collector; the rest as the API function itself. Constant once found.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/python/python_layout.h"

namespace tensorscope::stacks {

struct PyObject;  // opaque: only the interpreter looks inside, and the layout does

struct PythonApi {
  int (*is_initialized)();              // Py_IsInitialized
  const char* (*get_version)();         // Py_GetVersion
  PyObject* (*this_thread_state)();     // PyGILState_GetThisThreadState
  PyObject* (*current_thread_state)();  // PyThreadState_GetUnchecked, before 3.13 _PyThreadState_UncheckedGet
  const char* code_type;                // PyCode_Type
  const char* cell_type;                // PyCell_Type
  const char* text_type;                // PyUnicode_Type
  const char* bytes_type;               // PyBytes_Type
  const char* runtime;                  // _PyRuntime, null where it is not exported
  // For the self-check, with the GIL. The frame functions are null in 3.8.
  PyObject* (*thread_frame)(PyObject*);                      // PyThreadState_GetFrame
  PyObject* (*eval_frame)();                                 // PyEval_GetFrame: borrowed
  int (*frame_line)(PyObject*);                              // PyFrame_GetLineNumber
  PyObject* (*get_attribute)(PyObject*, const char*);        // PyObject_GetAttrString
  const char* (*text)(PyObject*);                            // PyUnicode_AsUTF8
  long (*integer)(PyObject*);                                // PyLong_AsLong
  void (*increment)(PyObject*);                              // Py_IncRef
  void (*decrement)(PyObject*);                              // Py_DecRef
  void (*fetch_error)(PyObject**, PyObject**, PyObject**);   // PyErr_Fetch
  void (*restore_error)(PyObject*, PyObject*, PyObject*);    // PyErr_Restore
  void (*clear_error)();                                     // PyErr_Clear
  PyObject* none;                                            // _Py_NoneStruct
  int (*disable_gc)();                                       // PyGC_Disable; null before 3.10
  int (*enable_gc)();                                        // PyGC_Enable
  PyObject* (*new_dict)();                                   // PyDict_New
  int (*set_item)(PyObject*, const char*, PyObject*);        // PyDict_SetItemString
  PyObject* (*new_function)(void*, PyObject*, PyObject*);    // PyCFunction_NewEx
  PyObject* (*run)(const char*, int, PyObject*, PyObject*);  // PyRun_String
};

struct PythonInterpreter {
  PythonApi api{};
  PythonLayout layout{};
  uint64_t version = 0;  // as PY_VERSION_HEX, release level and serial left out where unknown
  char version_text[24] = "";
};

enum class Found : uint8_t {
  none,           // no initialised interpreter in this process (yet)
  unsupported,    // one whose frames this library cannot read; version_text says which
  free_threaded,  // one without a GIL, whose objects lie in another way
  incomplete,     // one that does not export what is needed
  yes,
};

Found find_interpreter(PythonInterpreter& interpreter);

// True where this thread holds the GIL of the main interpreter, so that the API may be called.
bool holds_gil(const PythonApi& api);

}  // namespace tensorscope::stacks
