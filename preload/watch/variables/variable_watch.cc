// SPDX-License-Identifier: Apache-2.0
#include "watch/variables/variable_watch.h"

#include <string.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

#include "python/heap_inspector/graph/attributes.h"
#include "python/objects.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/process_info.h"
#include "support/state.h"
#include "tensor_values/tensor_view.h"
#include "torch_events/module_calls.h"
#include "torch_events/steps.h"
#include "values_file/value_store.h"
#include "watch/callbacks.h"
#include "watch/module_paths.h"
#include "watch/object_values.h"
#include "watch/tensor_capture.h"
#include "watch/watched_calls.h"

namespace tensorscope::watch {

namespace {

using format::ValuePlace;
using python::Gil;
using python::live_tensor;
using python::LiveTensor;
using python::Object;
using python::Owned;
using rules::WatchSpec;
using torch_events::current_step;
using torch_events::Mode;
using torch_events::OptimizerStep;
using values_file::count_loss;
using values_file::text_id;

constexpr size_t kMaxFrames = 4096;  // of which something is known
constexpr size_t kMaxNames = size_t{1} << 16;

// What is wanted of the calls whose first argument is this module.
struct ModuleWants {
  std::string path;
  uint32_t path_id = 0;
  std::vector<bool> wanted;  // by variable
  bool any = false;
};

// A variable's value when it was last looked at: no reference is kept, the object may be gone.
struct SeenValue {
  bool there = false;
  uint64_t state = 0;
  bool operator==(const SeenValue&) const = default;
};

struct FrameState {
  const CodePlan* plan = nullptr;
  const ModuleWants* module = nullptr;
  int run = -1;
  bool begun = false;
  const void* exception = nullptr;  // that was being handled
  std::vector<SeenValue> seen;
};

struct NameState {
  uint32_t id = 0, step = UINT32_MAX, pass = UINT32_MAX, count = 0;
  Mode mode = Mode::unknown;
};

// What of it was seen. Texts have other numbers in a child's own file.
struct SeenCode {
  std::unordered_map<const char*, FrameState> frames;
  std::unordered_map<std::string, NameState> names;
  std::unordered_map<const CodePlan*, std::unordered_map<uint64_t, ModuleWants>> modules;
  std::unordered_map<const CodePlan*, std::unordered_map<uint32_t, uint32_t>> sites;  // line to text
};

struct CodePoints : SeenCode {
  explicit CodePoints(const std::vector<WatchSpec>& all) : watches(all), plans(all, process_info().directory) {}
  const std::vector<WatchSpec>& watches;
  CodePlans plans;
  size_t made = 0;
};
CodePoints* g_points = nullptr;

// With the GIL, which Python code of ours may give up while it decides.
std::atomic<bool> g_deciding{false};
thread_local bool t_decides = false;

FreshInChild g_fresh_code{[] {
  g_deciding = t_decides;
  if (g_points) make_anew(static_cast<SeenCode&>(*g_points));
}};
constexpr int kMaxMillisecondsToDecide = 2000;
constexpr size_t kMaxPlans = 4096;

// Borrowed.
Object* value_in_slot(const Gil& gil, const CodeFrame& frame, size_t slot) {
  Object* object = python::heap_inspector::slot_of(gil, frame, slot);
  if (!object || !python::is_exactly(object, gil->PyCell_Type)) return object;
  const Owned content(gil, gil->PyCell_Get(object));
  return content.get();
}

Object* value_of(const Gil& gil, const CodeFrame& frame, const CodeVariable& variable) {
  switch (variable.place) {
    case VariablePlace::slot:
      return value_in_slot(gil, frame, variable.slot);
    case VariablePlace::body:
    case VariablePlace::globals: {
      const auto dict = variable.place == VariablePlace::body ? gil->PyEval_GetLocals : gil->PyEval_GetGlobals;
      Object* all = dict ? dict() : nullptr;
      gil->PyErr_Clear();
      return all ? python::entry(gil, all, variable.name.c_str()) : nullptr;
    }
  }
  return nullptr;
}

bool is_module(const Gil& gil, Object* object) {
  python::heap_inspector::Attributes attributes(gil);
  return attributes.find(object, "_parameters") != nullptr && attributes.find(object, "_modules") != nullptr;
}

const ModuleWants* module_wants(const Gil& gil, CodePoints& points, const CodePlan& plan, const CodeFrame& frame) {
  Object* self = plan.has_self ? value_in_slot(gil, frame, 0) : nullptr;
  if (!self || plan.function == "__init__" || !is_module(gil, self)) return nullptr;
  const WatchedModule* module = module_of(gil, self);
  if (!module) return nullptr;
  const uint64_t key = uint64_t(module->path_id) << 32 | module->class_id;
  const auto [found, fresh] = points.modules[&plan].try_emplace(key);
  ModuleWants& wants = found->second;
  if (!fresh) return wants.any ? &wants : nullptr;
  wants.path = module->path;
  wants.path_id = module->path_id;
  const std::vector<std::string> path = rules::path_segments(module->path);
  for (const CodeVariable& variable : plan.variables) {
    const WatchSpec& watch = points.watches[variable.watch];
    const bool wanted = variable.of_module && !rules::is_excluded(watch, path) &&
                        rules::match_path(watch.code.module, path) == rules::PathMatch::whole &&
                        (watch.class_name.empty() || rules::segment_matches(watch.class_name, module->class_name));
    wants.wanted.push_back(wanted);
    wants.any |= wanted;
  }
  return wants.any ? &wants : nullptr;
}

uint32_t site_of(CodePoints& points, const CodePlan& plan, uint32_t line) {
  const auto [found, fresh] = points.sites[&plan].try_emplace(line);
  if (fresh) found->second = text_id(plan.file + ":" + std::to_string(line));
  return found->second;
}

struct TakingValue {
  const Gil& gil;
  CodePoints& points;
  const WatchSpec& watch;
  uint32_t watch_number;
  std::string name;
  Origin origin;
};

void take_found(TakingValue& taking, const FoundValue& found) {
  if (!found.tensor.impl && !taking.watch.dtype.empty()) return;
  const size_t before = taking.name.size();
  taking.name += found.way;
  const bool known = taking.points.names.count(taking.name) != 0;
  if (!known && taking.points.names.size() >= kMaxNames) {
    taking.name.resize(before);
    return count_loss("variables", "more names than are kept");
  }
  NameState& name = taking.points.names[taking.name];
  if (!known) name.id = text_id(taking.name);
  taking.name.resize(before);
  const OptimizerStep step = current_step();
  if (name.step != step.number || name.pass != step.pass || name.mode != step.mode) {
    name = {name.id, step.number, step.pass, 0, step.mode};
  }
  taking.origin.index = name.count;
  if (found.tensor.impl && !has_wanted_dtype(taking.watch, found.tensor)) return;
  if (found.object && has_callbacks(taking.watch_number)) {
    remember_for_callbacks(taking.gil, taking.watch_number, name.id, {found.object, found.tensor, found.is_gradient_of},
                           taking.origin);
  } else if (found.tensor.impl) {
    take_tensor(taking.watch, taking.watch_number, name.id, found.tensor, taking.origin);
  } else {
    add_plain_value(name.id, *found.plain, taking.watch_number, taking.origin);
  }
  ++name.count;
  mark_watch_matched(taking.watch_number);
}

void take_value(const Gil& gil, CodePoints& points, CodePlan& plan, const ModuleWants* module,
                const CodeVariable& variable, Object* value, uint32_t line) {
  const WatchSpec& watch = points.watches[variable.watch];
  if (!is_due(watch, current_step())) return;
  TakingValue taking = {
      gil, points, watch, variable.watch, variable.of_module ? module->path + variable.text : variable.text, {}};
  const torch_events::RunningModule running = torch_events::running_module();
  taking.origin.place = variable.name.empty() ? ValuePlace::returned : ValuePlace::local;
  taking.origin.call = running.call;
  taking.origin.module = variable.of_module ? module->path_id : running.path_id;
  taking.origin.site = site_of(points, plan, line);
  each_value_at(gil, value, watch.code.within, [&](const FoundValue& found) { take_found(taking, found); });
}

uint32_t line_of(const Gil& gil, const CodeFrame& frame) {
  const int line =
      gil->PyCode_Addr2Line ? gil->PyCode_Addr2Line(frame.code, python::heap_inspector::offset_in(frame)) : 0;
  return line > 0 ? uint32_t(line) : 0;
}

// Something that is another number for another value, mostly.
uint64_t mixed(uint64_t a, uint64_t b) {
  return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd;
}

uint64_t state_of_tensor(const LiveTensor& tensor) {
  tensor_values::TensorView view;
  const bool readable = tensor_values::view_tensor(tensor.impl, view) == tensor_values::Readable::yes;
  const uint64_t own = tensor.serial != 0 ? tensor.serial : uint64_t(uintptr_t(tensor.impl));
  return mixed(own, readable ? tensor_values::version_of(tensor.impl) : 0);
}

void mix_found(uint64_t& state, const FoundValue& found) {
  if (found.tensor.impl) {
    state = mixed(state, state_of_tensor(found.tensor));
    return;
  }
  uint64_t number;
  memcpy(&number, &found.plain->number, sizeof number);
  state = mixed(mixed(state, uint64_t(found.plain->integer)), mixed(number, uint64_t(found.plain->kind)));
  for (const char c : found.plain->text) state = mixed(state, uint64_t(c));
}

SeenValue look_at(const Gil& gil, Object* value, const WatchSpec& watch) {
  SeenValue seen;
  if (!value) return seen;
  seen.there = true;
  if (!watch.code.within.empty()) {
    each_value_at(gil, value, watch.code.within, [&](const FoundValue& found) { mix_found(seen.state, found); });
  } else if (const LiveTensor tensor = live_tensor(gil, value); tensor.serial != 0) {
    seen.state = state_of_tensor(tensor);
  } else {
    seen.state = uint64_t(uintptr_t(value));
  }
  return seen;
}

bool is_wanted(const FrameState& state, const CodePlan& plan, size_t variable) {
  return !plan.variables[variable].of_module || (state.module && state.module->wanted[variable]);
}

enum class Passed : uint8_t { line, result, exception };

// The frame has executed a line and begins another, or ends.
void pass_line(const Gil& gil, CodePoints& points, CodePlan& plan, const CodeFrame& frame, FrameState& state,
               Passed passed) {
  const int offset = passed == Passed::line ? python::heap_inspector::offset_in(frame) : -1;
  const int now = offset < 0 ? -1 : plan.run_at(offset);
  const CodeRun* before = state.run >= 0 ? &plan.runs[size_t(state.run)] : nullptr;
  const CodeRun* next = now >= 0 ? &plan.runs[size_t(now)] : nullptr;
  const void* exception = python::handled_exception(gil);
  const bool raised = passed == Passed::exception || (exception && exception != state.exception);
  const bool ended_loop = before && before->loop_end != 0 && offset >= before->loop_end;
  state.exception = exception;
  state.seen.resize(plan.variables.size());
  for (size_t i = 0; i < plan.variables.size(); ++i) {
    const CodeVariable& variable = plan.variables[i];
    if (variable.name.empty() || !is_wanted(state, plan, i)) continue;
    const bool stored = before && !raised && !ended_loop &&
                        std::find(before->stores.begin(), before->stores.end(), i) != before->stores.end();
    bool take = false;
    if (variable.line == 0) {
      take = stored;
    } else {
      const auto is_inside = [&](const CodeRun* run) {
        return run && run->line >= variable.line && run->line <= variable.last_line;
      };
      if (!is_inside(before)) continue;
      const bool leaves = !is_inside(next) || offset <= before->begin;
      take = variable.stored_there ? stored : leaves && !raised;
      if (!take) continue;
    }
    Object* value = value_of(gil, frame, variable);
    const SeenValue seen = look_at(gil, value, points.watches[variable.watch]);
    if (variable.line == 0) take |= seen != state.seen[i];
    state.seen[i] = seen;
    if (!value || !take) continue;
    const uint32_t line = before ? before->line : state.begun && next ? next->line : plan.first_line;
    take_value(gil, points, plan, state.module, variable, value, line);
  }
  state.run = now;
  state.begun = true;
}

void take_results(const Gil& gil, CodePoints& points, CodePlan& plan, const FrameState& state, const CodeFrame& frame,
                  Object* result) {
  if (!plan.wants_returns || !result) return;
  uint32_t line = 0;
  for (size_t i = 0; i < plan.variables.size(); ++i) {
    if (!plan.variables[i].name.empty() || !is_wanted(state, plan, i)) continue;
    if (line == 0) line = line_of(gil, frame);
    take_value(gil, points, plan, state.module, plan.variables[i], result, line != 0 ? line : plan.first_line);
  }
}

FrameState& state_of(CodePoints& points, const CodePlan& plan, const CodeFrame& frame) {
  if (points.frames.size() >= kMaxFrames) points.frames.clear();
  FrameState& state = points.frames[frame.address];
  if (state.plan != &plan) state = {&plan, nullptr, -1, false, nullptr, {}};
  return state;
}

// No step begins or ends within a forward.
bool is_due_now(const CodePoints& points, const CodePlan& plan, const ModuleWants* module) {
  if (plan.any_for_all || plan.function != "forward") return true;
  const OptimizerStep step = current_step();
  for (size_t i = 0; i < plan.variables.size(); ++i) {
    if (module->wanted[i] && is_due(points.watches[plan.variables[i].watch], step)) return true;
  }
  return false;
}

}  // namespace

bool watches_code() {
  const std::vector<WatchSpec>& all = all_watches();
  return std::any_of(all.begin(), all.end(), [](const WatchSpec& watch) { return rules::is_of_code(watch.of); });
}

void register_variable_watch(const Gil& gil) {
  if (!watches_code() || g_points) return;
  if (!python::heap_inspector::check_locals(gil))
    return count_loss("variables", "this interpreter's frames are not known");
  g_points = new (std::nothrow) CodePoints(all_watches());
  if (!g_points) return;
  const std::vector<CodeFrame> running = python::heap_inspector::running_frames(gil);
  const bool started = gil->series >= kMonitoringSeries ? start_monitoring(gil, running) : start_tracing(gil, running);
  if (!started) count_loss("variables", "this interpreter does not tell which lines it executes");
}

bool decide_code(const Gil& gil, Object* code, const CodeMemory& memory, CodePlan*& plan) {
  plan = nullptr;
  if (!g_points || t_decides || in_callback()) return false;
  constexpr timespec kMillisecond = {0, 1'000'000};
  for (int i = 0; g_deciding; ++i) {
    if (i == kMaxMillisecondsToDecide) return false;
    const python::ReleasedGil released;
    nanosleep(&kMillisecond, nullptr);
  }
  if (memory.known(gil, code, plan)) return true;
  if (g_points->made >= kMaxPlans) {
    count_loss("variables", "more functions than are watched");
  } else {
    g_deciding = t_decides = true;
    plan = g_points->plans.make(gil, code);
    g_deciding = t_decides = false;
    if (plan) ++g_points->made;
  }
  memory.remember(gil, code, plan);
  return true;
}

bool on_frame_enter(const Gil& gil, CodePlan& plan, const CodeFrame& frame) {
  if (in_callback()) return false;
  CodePoints& points = *g_points;
  points.frames.erase(frame.address);
  const ModuleWants* module = plan.any_of_module ? module_wants(gil, points, plan, frame) : nullptr;
  if ((!module && !plan.any_for_all) || !is_due_now(points, plan, module)) return false;
  FrameState& state = state_of(points, plan, frame);
  state.module = module;
  state.exception = python::handled_exception(gil);
  return true;
}

bool any_frame_of(const CodePlan& plan) {
  return std::any_of(g_points->frames.begin(), g_points->frames.end(),
                     [&](const auto& frame) { return frame.second.plan == &plan; });
}

bool code_has_begun(const Gil& gil, CodePlan& plan, const CodeFrame& frame) {
  if (!on_frame_enter(gil, plan, frame)) return false;
  FrameState& state = state_of(*g_points, plan, frame);
  state.run = plan.run_at(python::heap_inspector::offset_in(frame));
  state.begun = true;
  return true;
}

bool on_frame_resume(const Gil& gil, CodePlan& plan, const CodeFrame& frame) {
  const auto known = g_points->frames.find(frame.address);
  return (known != g_points->frames.end() && known->second.plan == &plan) || on_frame_enter(gil, plan, frame);
}

void code_line(const Gil& gil, CodePlan& plan, const CodeFrame& frame) {
  if (!plan.wants_lines) return;
  if (!plan.any_for_all && g_points->frames.count(frame.address) == 0) return;  // another module's
  FrameState& state = state_of(*g_points, plan, frame);
  pass_line(gil, *g_points, plan, frame, state, Passed::line);
}

void code_yields(const Gil& gil, CodePlan& plan, const CodeFrame& frame, Object* result) {
  if (!plan.yields_results) return;
  if (!plan.any_for_all && g_points->frames.count(frame.address) == 0) return;
  take_results(gil, *g_points, plan, state_of(*g_points, plan, frame), frame, result);
}

void code_returns(const Gil& gil, CodePlan& plan, const CodeFrame& frame, Object* result) {
  if (!plan.any_for_all && g_points->frames.count(frame.address) == 0) return;
  FrameState& state = state_of(*g_points, plan, frame);
  if (plan.wants_lines) pass_line(gil, *g_points, plan, frame, state, Passed::result);
  take_results(gil, *g_points, plan, state, frame, result);
  g_points->frames.erase(frame.address);
}

void code_raises(const Gil& gil, CodePlan& plan, const CodeFrame& frame) {
  const auto known = g_points->frames.find(frame.address);
  if (known == g_points->frames.end() || known->second.plan != &plan) return;
  if (plan.wants_lines) pass_line(gil, *g_points, plan, frame, known->second, Passed::exception);
  g_points->frames.erase(frame.address);
}

std::vector<std::string> nearest_code(const WatchSpec& watch) {
  return g_points ? g_points->plans.nearest(watch) : std::vector<std::string>();
}

}  // namespace tensorscope::watch
