// SPDX-License-Identifier: Apache-2.0
#include "collector/fork_restart.h"

#include "support/loaded_object.h"

namespace tensorscope::collector {

namespace {

// CPython's own, by name: nothing here is compiled against Python.
struct PythonApi {
  const unsigned long* version = nullptr;  // Py_Version, 3.11 and newer
  int (*is_initialized)() = nullptr;
  int (*has_gil)() = nullptr;
  int (*add_pending_call)(int (*)(void*), void*) = nullptr;
  void* (*current_frame)() = nullptr;    // borrowed
  void* (*frame_back)(void*) = nullptr;  // new reference
  void (*decrease_reference)(void*) = nullptr;
  bool complete = false;
};
PythonApi g_python;

void (*g_start)() = nullptr;

// CPython 3.12 and 3.14 count the threads before they call the handlers of os.register_at_fork, so a call that is
// pending may start one at once. 3.13 counts after them (3.13.0 and 3.13.5: 200 warnings in 200 forks with a handler
// that is written in Python), and nothing but the frames tells when they have ended: there the call is postponed as
// long as a frame that the forking one called runs. 3.13 makes a postponed call up to 32 times at each look, and looks
// at each step of a handler's loops, hence the large limit. It bounds the time that a handler without an end costs: the
// collector thread starts then, and the program may be warned.
constexpr unsigned long kCountsAfterHandlers = 0x030D;  // series
constexpr int kMaxPostponed = 1'000'000;
int g_postponed = 0;
// The frame that called os.fork(): an address to compare with, never followed. Null: no call is postponed.
const void* g_forking_frame = nullptr;

bool resolve_python() {
  if (!g_python.complete) {
    g_python.complete =
        resolve("Py_Version", g_python.version) && resolve("Py_IsInitialized", g_python.is_initialized) &&
        resolve("PyGILState_Check", g_python.has_gil) && resolve("Py_AddPendingCall", g_python.add_pending_call) &&
        resolve("PyEval_GetFrame", g_python.current_frame) && resolve("PyFrame_GetBack", g_python.frame_back) &&
        resolve("Py_DecRef", g_python.decrease_reference);
  }
  return g_python.complete;
}

// True while a frame called by the forking one runs: the handlers of os.register_at_fork, still inside os.fork().
bool inside_fork_call() {
  void* frame = g_python.current_frame();
  if (g_forking_frame == nullptr || frame == nullptr || frame == g_forking_frame) return false;
  for (void* outer = g_python.frame_back(frame); outer != nullptr;) {
    void* next = outer == g_forking_frame ? nullptr : g_python.frame_back(outer);
    const bool found = outer == g_forking_frame;
    g_python.decrease_reference(outer);
    if (found) return true;
    outer = next;
  }
  return false;
}

int pending_call(void*) {
  if (inside_fork_call() && ++g_postponed < kMaxPostponed && g_python.add_pending_call(pending_call, nullptr) == 0) {
    return 0;
  }
  g_start();
  return 0;
}

}  // namespace

bool fork_would_warn() {
  constexpr unsigned long kFirstThatWarns = 0x030C0000;
  if (!resolve_python()) return false;
  if (*g_python.version < kFirstThatWarns || !g_python.is_initialized() || !g_python.has_gil()) return false;
  g_forking_frame = *g_python.version >> 16 == kCountsAfterHandlers ? g_python.current_frame() : nullptr;
  return true;
}

bool call_after_fork_returned(void (*start)()) {
  g_start = start;
  g_postponed = 0;
  return g_python.add_pending_call(pending_call, nullptr) == 0;
}

}  // namespace tensorscope::collector
