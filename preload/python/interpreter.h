// SPDX-License-Identifier: Apache-2.0
// Python's own C API, resolved at run time from whatever is loaded (a static python, libpython, or a libpython opened
// later): nothing is compiled against Python, one binary serves CPython 3.8 to 3.15.
//
// What needs the GIL takes a `const Gil&`. What is read of an object without the API is its type alone, at the offset
// that the release builds of all these series share; find_interpreter() checks it and refuses other builds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace tensorscope::python {

struct Object;       // PyObject
struct ThreadState;  // PyThreadState
struct Interpreter;  // PyInterpreterState

using Visit = int (*)(Object*, void*);
using Vectorcall = Object* (*)(Object* function, Object* const* arguments, size_t flagged_count, Object* keywords);

// One row a function: return type, name, parameters. The names in the first list exist in every series.
#define TENSORSCOPE_PYTHON_FUNCTIONS(F)                                                 \
  F(int, Py_IsInitialized, ())                                                          \
  F(const char*, Py_GetVersion, ())                                                     \
  F(int, PyGILState_Ensure, ())                                                         \
  F(void, PyGILState_Release, (int))                                                    \
  F(ThreadState*, PyGILState_GetThisThreadState, ())                                    \
  F(ThreadState*, PyEval_SaveThread, ())                                                \
  F(void, PyEval_RestoreThread, (ThreadState*))                                         \
  F(Interpreter*, PyInterpreterState_Main, ())                                          \
  F(ThreadState*, PyInterpreterState_ThreadHead, (Interpreter*))                        \
  F(ThreadState*, PyThreadState_Next, (ThreadState*))                                   \
  F(void, Py_DecRef, (Object*))                                                         \
  F(void, Py_IncRef, (Object*))                                                         \
  F(void, PyErr_Clear, ())                                                              \
  F(void, PyErr_Fetch, (Object**, Object**, Object**))                                  \
  F(void, PyErr_Restore, (Object*, Object*, Object*))                                   \
  F(void, PyErr_SetString, (Object*, const char*))                                      \
  F(Object*, PyImport_GetModuleDict, ())                                                \
  F(Object*, PyImport_ImportModuleLevel, (const char*, Object*, Object*, Object*, int)) \
  F(Object*, PyModule_Create2, (void*, int))                                            \
  F(Object*, PyModule_GetDict, (Object*))                                               \
  F(Object*, PyCFunction_NewEx, (void*, Object*, Object*))                              \
  F(int, PyCFunction_GetFlags, (Object*))                                               \
  F(Object*, PyObject_CallFunctionObjArgs, (Object*, ...))                              \
  F(Object*, PyObject_GetAttrString, (Object*, const char*))                            \
  F(Object*, PyObject_GenericGetDict, (Object*, void*))                                 \
  F(int, PyObject_IsTrue, (Object*))                                                    \
  F(int, PyType_IsSubtype, (Object*, Object*))                                          \
  F(unsigned long, PyType_GetFlags, (Object*))                                          \
  F(void*, PyType_GetSlot, (Object*, int))                                              \
  F(const char*, PyExceptionClass_Name, (Object*))                                      \
  F(Object*, PyDict_New, ())                                                            \
  F(int, PyDict_Next, (Object*, ptrdiff_t*, Object**, Object**))                        \
  F(int, PyDict_SetItemString, (Object*, const char*, Object*))                         \
  F(ptrdiff_t, PyList_Size, (Object*))                                                  \
  F(Object*, PyList_GetItem, (Object*, ptrdiff_t))                                      \
  F(ptrdiff_t, PyTuple_Size, (Object*))                                                 \
  F(Object*, PyTuple_GetItem, (Object*, ptrdiff_t))                                     \
  F(Object*, PyTuple_Pack, (ptrdiff_t, ...))                                            \
  F(Object*, PyCell_Get, (Object*))                                                     \
  F(long long, PyLong_AsLongLong, (Object*))                                            \
  F(Object*, PyLong_FromLongLong, (long long))                                          \
  F(double, PyFloat_AsDouble, (Object*))                                                \
  F(Object*, PyWeakref_NewRef, (Object*, Object*))                                      \
  F(Object*, PyWeakref_GetObject, (Object*))                                            \
  F(Object*, PyFunction_GetCode, (Object*))                                             \
  F(Object*, PyFunction_GetClosure, (Object*))                                          \
  F(Object*, PyFunction_GetDefaults, (Object*))                                         \
  F(Object*, PyFunction_GetKwDefaults, (Object*))                                       \
  F(Object*, PyBool_FromLong, (long))                                                   \
  F(const char*, PyUnicode_AsUTF8AndSize, (Object*, ptrdiff_t*))                        \
  F(int, PyUnicode_CompareWithASCIIString, (Object*, const char*))                      \
  F(Object*, PyUnicode_DecodeFSDefault, (const char*))                                  \
  F(Object*, PyBytes_FromStringAndSize, (const char*, ptrdiff_t))                       \
  F(Object*, PyRun_String, (const char*, int, Object*, Object*))

// Null where the series lacks them.
#define TENSORSCOPE_PYTHON_OPTIONAL_FUNCTIONS(F)                                             \
  F(int, Py_IsFinalizing, ())                               /* 3.13 on */                    \
  F(int, _Py_IsFinalizing, ())                              /* up to 3.12 */                 \
  F(ThreadState*, PyThreadState_GetUnchecked, ())           /* 3.13 on */                    \
  F(ThreadState*, _PyThreadState_UncheckedGet, ())          /* up to 3.12 */                 \
  F(uint64_t, PyThreadState_GetID, (ThreadState*))          /* 3.9 on */                     \
  F(void, PyThreadState_EnterTracing, (ThreadState*))       /* 3.11 on */                    \
  F(void, PyThreadState_LeaveTracing, (ThreadState*))       /* 3.11 on */                    \
  F(void, PyErr_GetExcInfo, (Object**, Object**, Object**)) /* not of the limited API */     \
  F(int, Py_AddPendingCall, (int (*)(void*), void*))        /* the same */                   \
  F(Object*, PyEval_GetLocals, ())                          /* of module and class bodies */ \
  F(Object*, PyEval_GetGlobals, ())                                                          \
  F(int, PyCode_Addr2Line, (Object*, int))                                                   \
  F(Object*, PyErr_Occurred, ())                                                             \
  F(void, PyErr_SetInterrupt, ())                                                            \
  F(double, PyComplex_RealAsDouble, (Object*))                                               \
  F(double, PyComplex_ImagAsDouble, (Object*))                                               \
  F(void*, _PyInterpreterState_GetEvalFrameFunc, (Interpreter*))                             \
  F(void, _PyInterpreterState_SetEvalFrameFunc, (Interpreter*, void*))                       \
  F(ptrdiff_t, _PyEval_RequestCodeExtraIndex, (void (*)(void*)))                             \
  F(int, _PyCode_GetExtra, (Object*, ptrdiff_t, void**))                                     \
  F(int, _PyCode_SetExtra, (Object*, ptrdiff_t, void*))                                      \
  F(int, PyGC_Disable, ())                                 /* 3.10 on */                     \
  F(int, PyGC_Enable, ())                                  /* 3.10 on */                     \
  F(void, PyUnstable_GC_VisitObjects, (Visit, void*))      /* 3.12 on */                     \
  F(Vectorcall, PyVectorcall_Function, (Object*))          /* 3.11 on */                     \
  F(void, PyFunction_SetVectorcall, (Object*, Vectorcall)) /* 3.12 on */                     \
  F(Object*, _PyFunction_Vectorcall,                       /* up to 3.12 */                  \
    (Object*, Object* const*, size_t, Object*))                                              \
  F(const char*, _PyMem_GetCurrentAllocatorName, ()) /* private */                           \
  F(int, _PyObject_DebugMallocStats, (FILE*))        /* private */

#define TENSORSCOPE_PYTHON_OBJECTS(F) \
  F(PyType_Type)                      \
  F(PyDict_Type)                      \
  F(PyList_Type)                      \
  F(PyTuple_Type)                     \
  F(PyUnicode_Type)                   \
  F(PyLong_Type)                      \
  F(PyBool_Type)                      \
  F(PyFloat_Type)                     \
  F(PySet_Type)                       \
  F(PyFrozenSet_Type)                 \
  F(PyModule_Type)                    \
  F(PyCode_Type)                      \
  F(PyCell_Type)                      \
  F(PyFunction_Type)                  \
  F(PyMethod_Type)                    \
  F(PyCFunction_Type)                 \
  F(PyFrame_Type)                     \
  F(PyTraceBack_Type)                 \
  F(PyGen_Type)                       \
  F(PyCoro_Type)                      \
  F(PyAsyncGen_Type)                  \
  F(PyDictProxy_Type)                 \
  F(_PyWeakref_RefType)               \
  F(PyExc_TypeError)                  \
  F(_Py_NoneStruct)

struct Api {
#define TENSORSCOPE_DECLARE(result, name, parameters) result(*name) parameters = nullptr;
  TENSORSCOPE_PYTHON_FUNCTIONS(TENSORSCOPE_DECLARE)
  TENSORSCOPE_PYTHON_OPTIONAL_FUNCTIONS(TENSORSCOPE_DECLARE)
#undef TENSORSCOPE_DECLARE
#define TENSORSCOPE_DECLARE(name) Object* name = nullptr;
  TENSORSCOPE_PYTHON_OBJECTS(TENSORSCOPE_DECLARE)
#undef TENSORSCOPE_DECLARE
  Object* PyFrozenDict_Type = nullptr;  // 3.15 on
  int series = 0;                       // 311 for 3.11
};

// Looks for an initialised interpreter of a known kind. Null: none here (yet). Cheap once found.
// Context: any thread of the program or the collector; takes the loader's lock.
const Api* find_interpreter();

// Py_TYPE: the second word of every object (Include/object.h, 3.8 to 3.15, release builds with a GIL).
inline Object* type_of(const Object* object) { return reinterpret_cast<Object* const*>(object)[1]; }

// Why an interpreter that is there cannot be used; null while there is nothing to say. Literal.
const char* interpreter_trouble();

// What find_interpreter() found before, or null. Any context but signal handlers.
const Api* known_interpreter();

// True where an interpreter that is initialised and not finalizing is known. Any context but signal.
bool interpreter_alive();

// The version that Py_GetVersion() reports, as 100 * major + minor; 0 where it is no CPython that this file can serve:
// one without a GIL, or of a series that was not tried with it. Where objects lie is not checked of those: nothing of
// them is read.
int usable_series(const char* version);

// Proof that the calling thread holds the GIL.
class Gil {
 public:
  // For what the interpreter itself calls, and for a thread that has just taken it.
  static Gil held(const Api& api) { return Gil(api); }
  const Api* operator->() const { return &api_; }

 private:
  explicit Gil(const Api& api) : api_(api) {}
  const Api& api_;
};

// Whether the calling thread holds the GIL of a known, living interpreter. Any context but signal handlers.
bool holds_gil();
// Whether there is no interpreter in this process, or one whose lock this thread does not hold. False where that is not
// known. Context: any thread, also one that was stopped somewhere (attach): no objects are made.
bool surely_without_gil();

// Up to CPython 3.13 a thread that waits for the GIL of an interpreter that ends is ended by pthread_exit()
// (Python/ceval_gil.c, take_gil), which unwinds the program's frames: std::terminate() where one of them is noexcept,
// as some of torch's are. While one of these is there the thread waits for the end of the process instead, as all do
// from 3.14 on (PyThread_hang_thread): the preload stands before pthread_exit() (hooks/process/process.cc). Context:
// any.
class StaysAtFinalization {
 public:
  StaysAtFinalization() : before_(t_stays) { t_stays = true; }
  ~StaysAtFinalization() { t_stays = before_; }
  StaysAtFinalization(const StaysAtFinalization&) = delete;
  StaysAtFinalization& operator=(const StaysAtFinalization&) = delete;
  // Whether the calling thread has one.
  static bool is_so() { return t_stays; }

 private:
  static constinit thread_local bool t_stays;
  bool before_;
};

// Gives the GIL up for its own lifetime where the calling thread holds it, so that a wait for the collector cannot hold
// up the collector's own wait for the GIL. Does nothing on a thread without it, or without Python. Any context but
// hooks.
class ReleasedGil {
 public:
  ReleasedGil();
  ~ReleasedGil();
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  const Api* api_ = nullptr;
  ThreadState* state_ = nullptr;
};

// The GIL, which a thread of Python's has given up for an operation of torch's. A thread that has none of its own might
// be waited for by one that holds the GIL. Any context but signal handlers.
class RetakenGil {
 public:
  RetakenGil();
  ~RetakenGil();
  RetakenGil(const RetakenGil&) = delete;
  RetakenGil& operator=(const RetakenGil&) = delete;
  // False: the calling thread is none of Python's, or the interpreter ends.
  explicit operator bool() const { return held_; }

 private:
  StaysAtFinalization stays_;  // what needs the GIL may give it up for a moment
  bool held_, taken_ = false;
  int before_ = 0;
};

}  // namespace tensorscope::python
