// SPDX-License-Identifier: Apache-2.0
// Lines by sys.monitoring (PEP 669), under a tool number of our own. Subscribes to the beginning of every function, and
// switches it off for a function without watched variables when that begins first. Subscribes to lines of the others
// only.
#include <string>
#include <unordered_map>
#include <utility>

#include "python/method.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "python/untraced.h"
#include "support/state.h"
#include "values_file/value_store.h"
#include "watch/callbacks.h"
#include "watch/variables/code_monitoring.py.h"
#include "watch/variables/variable_watch.h"

namespace tensorscope::watch {

namespace {

using python::Api;
using python::Gil;
using python::Object;
using python::Owned;
using values_file::count_loss;

struct Monitoring {
  Object* module = nullptr;
  Object* disable = nullptr;
  Object* tool = nullptr;  // its number
  Object* set_local_events = nullptr;
  long long line = 0, returns = 0, yields = 0;
  std::unordered_map<const Object*, CodePlan*> plans;  // code objects that are kept, so that no other takes an address
};
Monitoring* g_monitoring = nullptr;

Object* as_result(const Gil& gil, Object* object) {
  gil->Py_IncRef(object);
  return object;
}

bool call_function(const Gil& gil, Object* function, Object* first, Object* second = nullptr, Object* third = nullptr) {
  const Owned result(gil, gil->PyObject_CallFunctionObjArgs(function, first, second, third, nullptr));
  return bool(result);
}

void ask_for_lines(const Gil& gil, Monitoring& monitoring, CodePlan& plan, Object* code, bool on = true) {
  if (plan.lines_are_on == on) return;
  plan.lines_are_on = on;
  const long long events = !on ? 0
                               : monitoring.returns | (plan.yields_results ? monitoring.yields : 0) |
                                     (plan.wants_lines ? monitoring.line : 0);
  const Owned number(gil, gil->PyLong_FromLongLong(events));
  if (!number || !call_function(gil, monitoring.set_local_events, monitoring.tool, code, number.get())) {
    count_loss("variables", "sys.monitoring refused");
  }
}

bool known_code(const Gil&, Object* code, CodePlan*& plan) {
  const auto known = g_monitoring->plans.find(code);
  if (known == g_monitoring->plans.end()) return false;
  plan = known->second;
  return true;
}

void remember_code(const Gil& gil, Object* code, CodePlan* plan) {
  if (!plan) return;
  gil->Py_IncRef(code);
  g_monitoring->plans[code] = plan;
}

constexpr CodeMemory kCodeMemory = {known_code, remember_code};

// Of the code object that is running.
CodeFrame running_frame(const Gil& gil, Object* code) {
  const CodeFrame frame = python::heap_inspector::innermost_frame(gil);
  return frame.code == code ? frame : CodeFrame();
}

template <typename Work>
Object* with_code(Object* arguments, ptrdiff_t count, Work work) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  Object* answer = api._Py_NoneStruct;
  if (g_monitoring && !in_callback() && api.PyTuple_Size(arguments) >= count) {
    {
      const InsideScope inside;
      work(gil, *g_monitoring, api.PyTuple_GetItem(arguments, 0), answer);
    }
    call_back(gil);
  }
  return as_result(gil, answer);
}

Object* starts(Object*, Object* arguments) {
  return with_code(arguments, 2, [](const Gil& gil, Monitoring& monitoring, Object* code, Object*& answer) {
    CodePlan* plan = nullptr;
    const bool decided = known_code(gil, code, plan) || decide_code(gil, code, kCodeMemory, plan);
    if (!plan) {
      if (decided) answer = monitoring.disable;
      return;
    }
    const CodeFrame frame = running_frame(gil, code);
    if (!frame.code) return;
    if (on_frame_enter(gil, *plan, frame)) {
      ask_for_lines(gil, monitoring, *plan, code);
    } else if (!any_frame_of(*plan)) {
      ask_for_lines(gil, monitoring, *plan, code, false);
    }
  });
}

// Unwinding cannot be switched off for a code object.
template <typename Use>
Object* with_frame(Object* arguments, ptrdiff_t count, Use use, bool may_switch_off = true) {
  return with_code(arguments, count, [&](const Gil& gil, Monitoring& monitoring, Object* code, Object*& answer) {
    const auto known = monitoring.plans.find(code);
    if (known == monitoring.plans.end()) {
      if (may_switch_off) answer = monitoring.disable;
      return;
    }
    const CodeFrame frame = running_frame(gil, code);
    if (frame.code) use(gil, *known->second, frame);
  });
}

Object* begins_line(Object*, Object* arguments) {
  return with_frame(arguments, 2,
                    [](const Gil& gil, CodePlan& plan, const CodeFrame& frame) { code_line(gil, plan, frame); });
}

Object* returns(Object*, Object* arguments) {
  return with_frame(arguments, 3, [&](const Gil& gil, CodePlan& plan, const CodeFrame& frame) {
    code_returns(gil, plan, frame, gil->PyTuple_GetItem(arguments, 2));
  });
}

Object* unwinds(Object*, Object* arguments) {
  return with_frame(
      arguments, 3, [](const Gil& gil, CodePlan& plan, const CodeFrame& frame) { code_raises(gil, plan, frame); },
      false);
}

Object* yields(Object*, Object* arguments) {
  return with_frame(arguments, 3, [&](const Gil& gil, CodePlan& plan, const CodeFrame& frame) {
    code_yields(gil, plan, frame, gil->PyTuple_GetItem(arguments, 2));
  });
}

python::MethodDefinition g_starts = {"starts", starts, python::kArguments, nullptr};
python::MethodDefinition g_line_begins = {"line", begins_line, python::kArguments, nullptr};
python::MethodDefinition g_returns = {"returns", returns, python::kArguments, nullptr};
python::MethodDefinition g_unwinds = {"unwinds", unwinds, python::kArguments, nullptr};
python::MethodDefinition g_yields = {"yields", yields, python::kArguments, nullptr};

}  // namespace

bool start_monitoring(const Gil& gil, const std::vector<CodeFrame>& running) {
  Object* const globals = python::run_own_source(
      gil, embedded::kCodeMonitoring, {&g_starts, &g_line_begins, &g_returns, &g_yields, &g_unwinds});  // kept
  if (!globals) return false;
  auto* made = new Monitoring;
  made->set_local_events = python::entry(gil, globals, "set_local_events");
  made->disable = python::entry(gil, globals, "disable");
  made->tool = python::entry(gil, globals, "tool");
  Object* numbers = python::entry(gil, globals, "numbers");
  if (!made->set_local_events || !made->disable || !numbers) {
    count_loss("variables", "other tools have taken every number of sys.monitoring");
    return true;
  }
  long long* const events[] = {&made->line, &made->returns, &made->yields};
  for (int i = 0; i < 3; ++i) *events[i] = gil->PyLong_AsLongLong(gil->PyTuple_GetItem(numbers, i));
  g_monitoring = made;
  for (const CodeFrame& frame : running) {
    CodePlan* plan = nullptr;
    if (!frame.code || !python::is_exactly(frame.code, gil->PyCode_Type)) continue;
    if (decide_code(gil, frame.code, kCodeMemory, plan) && plan) {
      if (code_has_begun(gil, *plan, frame)) ask_for_lines(gil, *made, *plan, frame.code);
    }
  }
  const python::Untraced untraced(*gil.operator->());
  return call_function(gil, python::entry(gil, globals, "switch_on"), nullptr);
}

}  // namespace tensorscope::watch
