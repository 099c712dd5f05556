// SPDX-License-Identifier: Apache-2.0
#include "python/interpreter.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "support/loaded_object.h"
#include "support/locks/mutex.h"

namespace tensorscope::python {

namespace {

constinit Mutex g_search;
Api g_api;
std::atomic<const Api*> g_known{nullptr};
std::atomic<const char*> g_trouble{nullptr};

bool fill(Api& api) REQUIRES(g_search) {
  bool all = true;
#define TENSORSCOPE_RESOLVE(result, name, parameters) all = resolve(#name, api.name) && all;
  TENSORSCOPE_PYTHON_FUNCTIONS(TENSORSCOPE_RESOLVE)
#undef TENSORSCOPE_RESOLVE
#define TENSORSCOPE_RESOLVE(result, name, parameters) resolve(#name, api.name);
  TENSORSCOPE_PYTHON_OPTIONAL_FUNCTIONS(TENSORSCOPE_RESOLVE)
#undef TENSORSCOPE_RESOLVE
#define TENSORSCOPE_RESOLVE(name) all = resolve(#name, api.name) && all;
  TENSORSCOPE_PYTHON_OBJECTS(TENSORSCOPE_RESOLVE)
#undef TENSORSCOPE_RESOLVE
  resolve("PyFrozenDict_Type", api.PyFrozenDict_Type);
  return all;
}

constexpr long kOldestMinor = 8, kNewestMinor = 15;

bool is_free_threaded(const char* version) { return strstr(version, "free-threading") != nullptr; }

bool finalizing(const Api& api) {
  if (api.Py_IsFinalizing) return api.Py_IsFinalizing() != 0;
  return api._Py_IsFinalizing && api._Py_IsFinalizing() != 0;
}

}  // namespace

int usable_series(const char* version) {
  char* end = nullptr;
  const long major = strtol(version, &end, 10);
  if (major != 3 || *end != '.') return 0;
  const long minor = strtol(end + 1, nullptr, 10);
  // A free-threaded build has other object headers, and no GIL that would keep a borrowed object alive.
  if (minor < kOldestMinor || minor > kNewestMinor || is_free_threaded(version)) return 0;
  return int(300 + minor);
}

const Api* find_interpreter() {
  if (const Api* known = known_interpreter()) return known;
  if (g_trouble.load(std::memory_order_acquire)) return nullptr;
  const MutexGuard guard(g_search);
  const Api* found = g_known.load(std::memory_order_acquire);
  auto is_initialized = found ? nullptr : reinterpret_cast<int (*)()>(find_in_any_object("Py_IsInitialized"));
  if (is_initialized && is_initialized()) {
    const char* trouble = nullptr;
    if (!fill(g_api)) {
      trouble = "this interpreter does not export the C API that names need";
    } else if (g_api.series = usable_series(g_api.Py_GetVersion()); g_api.series == 0) {
      trouble = is_free_threaded(g_api.Py_GetVersion())
                    ? "this interpreter is free-threaded: objects are laid out in another way, and nothing keeps them"
                    : "this interpreter is no CPython from 3.8 to 3.15: where its objects lie is not known";
    } else if (type_of(g_api.PyType_Type) != g_api.PyType_Type || type_of(g_api.PyDict_Type) != g_api.PyType_Type) {
      trouble = "this interpreter's objects have an unusual header (a debug build?)";
    } else {
      found = &g_api;
      g_known.store(found, std::memory_order_release);
    }
    g_trouble.store(trouble, std::memory_order_release);
  }
  return found;
}

const char* interpreter_trouble() { return g_trouble.load(std::memory_order_acquire); }
const Api* known_interpreter() { return g_known.load(std::memory_order_acquire); }

bool interpreter_alive() {
  const Api* api = known_interpreter();
  return api && api->Py_IsInitialized() && !finalizing(*api);
}

bool holds_gil() {
  const Api* api = known_interpreter();
  if (!api || !interpreter_alive()) return false;
  // Not PyGILState_Check(): it answers yes on every thread once a sub-interpreter has been made.
  ThreadState* own = api->PyGILState_GetThisThreadState();
  ThreadState* current = api->PyThreadState_GetUnchecked    ? api->PyThreadState_GetUnchecked()
                         : api->_PyThreadState_UncheckedGet ? api->_PyThreadState_UncheckedGet()
                                                            : nullptr;
  return own != nullptr && own == current;
}

bool surely_without_gil() {
  if (!find_interpreter()) return interpreter_trouble() == nullptr;
  return !holds_gil();
}

constinit thread_local bool StaysAtFinalization::t_stays = false;

ReleasedGil::ReleasedGil() {
  if (!holds_gil()) return;
  api_ = known_interpreter();
  state_ = api_->PyEval_SaveThread();
}

ReleasedGil::~ReleasedGil() {
  if (!api_) return;
  const StaysAtFinalization stays;
  api_->PyEval_RestoreThread(state_);
}

RetakenGil::RetakenGil() : held_(holds_gil()) {
  const Api* const api = known_interpreter();
  if (held_ || !api || !interpreter_alive() || !api->PyGILState_GetThisThreadState()) return;
  before_ = api->PyGILState_Ensure();
  held_ = taken_ = true;
}

RetakenGil::~RetakenGil() {
  if (taken_) known_interpreter()->PyGILState_Release(before_);
}

}  // namespace tensorscope::python
