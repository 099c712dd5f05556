// SPDX-License-Identifier: Apache-2.0
#include "find_nan/device_checks.h"

#include <string.h>

#include <atomic>
#include <string>

#include "find_nan/device_checks.py.h"
#include "python/imported_whole.h"
#include "python/interpreter.h"
#include "python/method.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "python/unseen_work.h"
#include "support/fresh_in_child.h"
#include "support/message.h"
#include "support/state.h"

namespace tensorscope::find_nan {

namespace {

using python::Api;
using python::Gil;
using python::Object;
using python::Owned;

enum class State : uint8_t { off, asked, running, given_up };
constinit std::atomic<State> g_device_state{State::off};
// The hooks stay in a forked child, as all of Python's objects do.
struct DeviceChecks {
  std::atomic<uint64_t> count{0};
};
constinit DeviceChecks g_device_checks;
FreshInChild g_fresh_device_checks{g_device_checks};
void (*g_device_found)(const DeviceFinding&) = nullptr;

// module, parameter, step, whether it is a NaN
Object* found_on_device(Object*, Object* arguments) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  constexpr ptrdiff_t kArgumentsOfFound = 4;
  if (api.PyTuple_Size(arguments) == kArgumentsOfFound) {
    DeviceFinding finding;
    finding.module = uint64_t(api.PyLong_AsLongLong(api.PyTuple_GetItem(arguments, 0)));
    finding.parameter = python::text_of(gil, api.PyTuple_GetItem(arguments, 1)).data();
    finding.gradient = *finding.parameter != 0;
    finding.step = uint32_t(api.PyLong_AsLongLong(api.PyTuple_GetItem(arguments, 2)));
    finding.nan = api.PyObject_IsTrue(api.PyTuple_GetItem(arguments, 3)) == 1;
    g_device_found(finding);
  }
  return python::new_none(api);
}

Object* checked_on_device(Object*, Object* count) {
  const Api& api = *python::known_interpreter();
  g_device_checks.count.fetch_add(uint64_t(api.PyLong_AsLongLong(count)), std::memory_order_relaxed);
  return python::new_none(api);
}

Object* failed_on_device(Object*, Object* text) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  say("--find-nan: tensors on devices are no longer checked: %s", std::string(python::text_of(gil, text)).c_str());
  return python::new_none(api);
}

python::MethodDefinition g_found_method = {"found", found_on_device, python::kArguments, nullptr};
python::MethodDefinition g_checked_method = {"checked", checked_on_device, python::kOneArgument, nullptr};
python::MethodDefinition g_failed_method = {"failed", failed_on_device, python::kOneArgument, nullptr};

bool register_device_hooks(const Gil& gil) {
  const Owned globals(gil, python::run_own_source(gil, embedded::kDeviceChecks,
                                                  {&g_found_method, &g_checked_method, &g_failed_method,
                                                   &python::g_unseen_begins, &python::g_unseen_ends},
                                                  {{"torch", python::loaded_module(gil, "torch")},
                                                   {"nn_module", python::loaded_module(gil, "torch.nn.modules.module")},
                                                   {"optim", python::loaded_module(gil, "torch.optim.optimizer")}}));
  return bool(globals);
}

// On the main thread, between two of its instructions.
int register_at_next_chance(void*) {
  const Gil gil = Gil::held(*python::known_interpreter());
  const InsideScope inside;
  if (!python::imported_whole(gil, "torch.nn.modules.module") ||
      !python::imported_whole(gil, "torch.optim.optimizer")) {
    g_device_state.store(State::off, std::memory_order_release);  // the next tensor tries again
    return 0;
  }
  const bool done = register_device_hooks(gil);
  if (!done) say("--find-nan: tensors on devices are not checked: the hooks could not be registered");
  g_device_state.store(done ? State::running : State::given_up, std::memory_order_release);
  return 0;
}

}  // namespace

void want_device_checks() {
  if (g_device_state.load(std::memory_order_relaxed) != State::off || g_device_found == nullptr) return;
  const Api* api = python::find_interpreter();
  State off = State::off;
  if (!api || !api->Py_AddPendingCall || !g_device_state.compare_exchange_strong(off, State::asked)) return;
  if (api->Py_AddPendingCall(register_at_next_chance, nullptr) != 0) g_device_state.store(State::off);
}

bool device_checks_run() { return g_device_state.load(std::memory_order_acquire) == State::running; }
uint64_t device_checks() { return g_device_checks.count.load(std::memory_order_relaxed); }

void start_device_checks(void (*found)(const DeviceFinding&)) { g_device_found = found; }

}  // namespace tensorscope::find_nan
