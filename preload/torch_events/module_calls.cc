// SPDX-License-Identifier: Apache-2.0
#include "torch_events/module_calls.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <unordered_map>
#include <utility>

#include "live/device_table.h"
#include "live/tracker.h"
#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/imported_whole.h"
#include "python/method.h"
#include "python/module_entry.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "stacks/capture.h"
#include "support/clock.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/locks/futex.h"
#include "support/state.h"
#include "tensor_values/tensor_view.h"
#include "tensorscope/values_format.h"
#include "torch_events/at_thread_end.h"
#include "torch_events/backward_calls.h"
#include "torch_events/optimizer_steps.py.h"
#include "torch_events/saved_tensors.h"
#include "torch_events/steps.h"
#include "torch_events/torch_layout_probe.h"
#include "values_file/source_places.h"
#include "values_file/value_store.h"
#include "values_file/values_switch.h"

namespace tensorscope::torch_events {

namespace {

using format::CallFlag;
using python::Gil;
using python::ModuleCall;
using python::Object;
using python::Owned;
using values_file::count_loss;

struct Running {
  uint64_t id;
  const void* stack;  // where the C stack stood: what lies deeper has ended
  CalledModule* module;
  uint32_t index, site;
  Mode mode;
  bool recorded;           // becomes a row
  const void* operations;  // what the listener wants of those within; null: nothing
  uint64_t forward = 0;    // backward_calls.h
  // As it begins.
  uint64_t begin_ns = 0;
  uint64_t live_before = 0, peak_outside = 0;
  SavesBegin saves = {};
  const void* node = nullptr;  // of the backward pass in which it began: what a checkpoint computes again
};

constexpr int kMaxTries = 4;

struct Calls {
  Calls(const CallSettings& given, CallListener& listens) : settings(given), listener(listens) {}
  CallSettings settings;
  CallListener& listener;
  std::atomic<uint64_t> next_call{1};
  live::DeviceSlot device = live::DeviceTable::kCpu;  // whose live bytes the calls tell
  int tries_left = 0;                                 // to learn from first operations
  std::atomic<uint32_t> learns{0};                    // from them, now: a futex
};

Calls* g_calls = nullptr;
thread_local std::vector<Running>* t_running = nullptr;
// Texts have other numbers in a child's own file, so modules are named anew. What the parent has learnt of torch stays.
FreshInChild g_fresh_calls{[] {
  if (t_running) t_running->clear();
  if (!g_calls) return;
  const int tries_left = g_calls->tries_left;
  g_calls = new (std::nothrow) Calls(g_calls->settings, g_calls->listener);
  if (g_calls) g_calls->tries_left = tries_left;
}};

std::vector<Running>& running() {
  if (!t_running) {
    t_running = new std::vector<Running>;
    delete_at_thread_end(t_running);
  }
  return *t_running;
}

// ---- calls --------------------------------------------------------------------------------------------------------

const live::DeviceTable::Row& device_row(const Calls& calls) { return live::g_devices.row(calls.device); }

void choose_device(Calls& calls) {
  for (live::DeviceSlot slot = live::DeviceTable::kCpu + 1; slot < live::DeviceTable::kSlots; ++slot) {
    if (!live::g_devices.used(slot)) break;
    if (live::g_devices.row(slot).bytes_live.load(std::memory_order_relaxed) != 0) {
      calls.device = slot;
      follow_backward_on(slot);
      return;
    }
  }
}

uint32_t place_here() {
  --t_inside;
  StackId stack = 0;
  if (HookScope scope; scope) stack = stacks::capture_python_part();
  ++t_inside;
  return values_file::source_place_of(stack);
}

// What its row has from the beginning, a forward's and that of its backward.
format::CallRow row_of(const Calls& calls, const Running& call) {
  const OptimizerStep step = current_step();
  format::CallRow row;
  row.mutate_id(call.id);
  row.mutate_module_(call.module->path_id);
  row.mutate_class_name(call.module->class_id);
  row.mutate_site(call.site);
  row.mutate_step(step.number);
  row.mutate_pass(step.pass);
  row.mutate_index(call.index);
  row.mutate_mode(format::StepMode(call.mode));
  row.mutate_device_type(live::g_devices.device(calls.device).type);
  return row;
}

void end_call(Calls& calls, const Running& call, bool raised, bool unfinished) {
  const uint64_t live_after = device_row(calls).bytes_live.load(std::memory_order_relaxed);
  const uint64_t peak = std::max(device_row(calls).peak_since.load(std::memory_order_relaxed), call.live_before);
  live::g_devices.lower_peak_since(calls.device, std::max(peak, call.peak_outside));
  forward_ends(call.forward);
  if (!call.recorded) return;
  const uint64_t saved = saves_end(call.saves);
  const std::vector<Running>& all = running();
  const auto caller = std::find_if(all.rbegin(), all.rend(), [](const Running& each) { return each.recorded; });
  uint16_t flags = 0;
  if (raised) flags |= uint16_t(CallFlag::raised);
  if (unfinished) flags |= uint16_t(CallFlag::unfinished);
  format::CallRow row = row_of(calls, call);
  row.mutate_parent(caller == all.rend() ? 0 : caller->id);
  row.mutate_begin_ns(call.begin_ns);
  row.mutate_end_ns(monotonic_ns());
  row.mutate_live_before(call.live_before);
  row.mutate_live_after(live_after);
  row.mutate_peak(peak);
  row.mutate_saved(saved);
  row.mutate_flags(flags);
  values_file::add_call(row);
}

// A call whose end nobody told: an exception that no hook sees (KeyboardInterrupt) left it.
void end_deeper(Calls& calls, const void* stack) {
  std::vector<Running>& all = running();
  while (!all.empty() && all.back().stack <= stack) {
    const Running call = all.back();
    all.pop_back();
    end_call(calls, call, true, false);
  }
}

uint64_t next_call_id() { return g_calls->next_call.fetch_add(1, std::memory_order_relaxed); }

void add_backward_rows(bool all = false) { add_backward_calls(next_call_id, all); }

Mode mode_of_module(const Gil& gil, Object* module) {
  python::heap_inspector::Attributes attributes(gil);
  Object* training = attributes.find(module, "training");
  if (!training || !python::is_exactly(training, gil->PyBool_Type)) return Mode::unknown;
  return gil->PyObject_IsTrue(training) == 1 ? Mode::train : Mode::eval;
}

// Another thread runs the probe: without its outcome a backward pass of this one could not be told.
void wait_for_layout_probe(Calls& calls) {
  const python::ReleasedGil released;
  const uint64_t until_ns = monotonic_ns() + uint64_t{kLayoutProbeMs} * 1'000'000;
  while (calls.learns.load(std::memory_order_acquire) != 0 && futex_wait_until(calls.learns, 1, until_ns)) {
  }
}

// Not earlier: while torch is imported its operations may wait for the import. Another thread may call a module
// meanwhile, since the GIL is given up: one look is enough.
void learn_from_layout_probe(const Gil& gil, Calls& calls) {
  if (calls.tries_left == 0 || !running().empty() || live::running_node_address() != nullptr) return;
  if (calls.learns.exchange(1, std::memory_order_acq_rel) != 0) return wait_for_layout_probe(calls);
  if (run_torch_layout_probe(gil, python::loaded_module(gil, "torch"))) --calls.tries_left;
  if (knows_nodes()) calls.tries_left = 0;
  calls.learns.store(0, std::memory_order_release);
  futex_wake(calls.learns);
}

void call_begins(const Gil& gil, Calls& calls, Object* object, const void* stack) {
  end_deeper(calls, stack);
  std::vector<Running>& all = running();
  CalledModule* module = calls.listener.find(gil, object, all.empty() ? nullptr : all.back().module);
  if (!module) return count_loss("calls", "not enough memory");
  const Mode mode = all.empty() || calls.settings.record_calls ? mode_of_module(gil, object) : Mode::unknown;
  // A checkpoint computes a forward again within a backward pass: that is no pass of its own.
  if (all.empty() && live::running_node_address() == nullptr) {
    add_backward_rows();
    begin_pass(mode);
    choose_device(calls);
    calls.listener.pass_begins(gil);
  }
  const uint32_t pass = current_step().pass;
  if (module->pass != pass) {
    module->pass = pass;
    module->calls_in_pass = 0;
  }
  if (module->class_name == "OptimizedModule") count_loss("modules", "inside what torch.compile() compiled");
  const bool recorded = calls.settings.record_calls && values_file::values_are_on();
  const bool wants_place = recorded || calls.listener.wants_line(*module);
  make_room_for_one(all);
  const uint64_t live = device_row(calls).bytes_live.load(std::memory_order_relaxed);
  Running call = {
      .id = next_call_id(),
      .stack = stack,
      .module = module,
      .index = module->calls_in_pass++,
      .site = wants_place ? place_here() : 0,
      .mode = mode,
      .recorded = recorded,
      .operations = calls.listener.operations_within(all.empty() ? nullptr : all.back().operations, *module),
  };
  // A call within one that is followed would else be taken for that one.
  const bool followed = recorded || call.operations || (!all.empty() && all.back().forward != 0);
  if (followed) call.forward = forward_begins(row_of(calls, call), recorded, call.operations);
  call.begin_ns = monotonic_ns();
  call.live_before = live;
  call.peak_outside = live::g_devices.lower_peak_since(calls.device, live);
  if (recorded) call.saves = saves_begin();
  call.node = live::running_node_address();
  all.push_back(call);
}

void call_ends(const Gil& gil, Calls& calls, const ModuleCall& ended) {
  std::vector<Running>& all = running();
  const auto own =
      std::find_if(all.rbegin(), all.rend(), [&](const Running& call) { return call.stack == ended.stack; });
  if (own == all.rend()) return;  // it began in another process, or memory ran out as it began
  while (all.back().stack != ended.stack) {
    const Running call = all.back();
    all.pop_back();
    end_call(calls, call, true, false);
  }
  const Running call = all.back();
  calls.listener.call_ends(gil, *call.module, ended, {call.id, call.module->path_id, call.site, call.index});
  // A checkpoint ends what it computes again by an exception, once it has all that backward needs.
  const bool failed = !ended.result && strcmp(python::heap_inspector::short_name_of_class(gil, ended.exception),
                                              "_StopRecomputationError") != 0;
  all.pop_back();
  end_call(calls, call, failed, false);
}

// ---- what Python calls ----------------------------------------------------------------------------------------------

// What is done at every call of a module allocates little, which the reserve serves where memory has run out
// (support/enough_memory.h); what may allocate more is work of its own, whose change of stacks costs a microsecond.
template <typename Work>
void with_scope(const Gil& gil, Work work) {
  if (Calls* const calls = g_calls; calls && !calls->listener.is_calling()) {
    {
      const InsideScope inside;
      work(*calls);
    }
    calls->listener.after_event(gil);
  }
}

void begins(const Gil& gil, const ModuleCall& call) {
  with_scope(gil, [&](Calls& calls) {
    learn_from_layout_probe(gil, calls);
    call_begins(gil, calls, call.module, call.stack);
  });
}

void ends(const Gil& gil, const ModuleCall& call) {
  with_scope(gil, [&](Calls& calls) { call_ends(gil, calls, call); });
}

Object* gradients_are_there(Object*, Object*) {
  const Gil gil = Gil::held(*python::known_interpreter());
  with_scope(gil, [&](Calls& calls) {
    add_backward_rows();
    calls.listener.step_begins(gil);
  });
  return python::new_none(*python::known_interpreter());
}

Object* step_ends(Object*, Object* optimizer) {
  const Gil gil = Gil::held(*python::known_interpreter());
  with_scope(gil, [&](Calls& calls) {
    calls.listener.step_ends(gil, optimizer);
    const uint32_t step = current_step().number;
    end_step();
    if (current_step().number != step) calls.listener.step_has_ended(step);
  });
  tell_step_end();
  return python::new_none(*python::known_interpreter());
}

python::MethodDefinition g_gradients_are_there = {"gradients_are_there", gradients_are_there, python::kOneArgument,
                                                  nullptr};
python::MethodDefinition g_step_ends = {"step_ends", step_ends, python::kOneArgument, nullptr};

}  // namespace

void start_module_calls(const CallSettings& settings, CallListener& listener) {
  start_thread_ends();
  g_calls = new (std::nothrow) Calls(settings, listener);
}

bool register_hooks(const Gil& gil) {
  if (!g_calls || !python::imported_whole(gil, "torch.nn.modules.module") ||
      !python::imported_whole(gil, "torch.optim.optimizer") || !python::heap_inspector::check_type_fields(gil)) {
    return g_calls == nullptr;
  }
  const Owned hooks(gil, python::run_own_source(gil, embedded::kOptimizerSteps, {&g_gradients_are_there, &g_step_ends},
                                                {{"torch", python::loaded_module(gil, "torch")},
                                                 {"optim", python::loaded_module(gil, "torch.optim.optimizer")}}));
  if (hooks &&
      python::entry(gil, python::module_globals(gil, "torch.optim.optimizer"), "register_optimizer_step_post_hook")) {
    steps_are_counted();
  }
  if (g_calls->settings.follow_operations || g_calls->settings.record_calls) {
    Status followed = follow_forwards();
    if (followed && g_calls->settings.record_calls) followed = follow_backward(g_calls->device);
    if (!followed) count_loss("backward", followed.why());
    g_calls->tries_left = followed ? kMaxTries : 0;
  }
  if (g_calls->settings.record_calls) follow_saved_tensors();
  if (!hooks) count_loss("steps", "the hooks could not be registered with torch.optim");
  const Status observed = python::observe_module_calls(gil, {begins, ends});
  if (!observed) count_loss("calls", observed.why());
  return true;
}

bool has_module_calls() { return g_calls != nullptr; }

CallPlace place_in_program() {
  CallPlace place;
  if (!g_calls) return place;
  place.site = place_here();
  if (!running().empty()) {
    const Running& call = running().back();
    place.call = call.id;
    place.module = call.module->path_id;
  }
  return place;
}

bool call_of_operation(OperationCall& out) {
  const Calls* const calls = g_calls;
  if (!calls || calls->listener.is_calling()) return false;
  const void* const node = live::running_node_address();
  const Running* const call = t_running && !t_running->empty() ? &t_running->back() : nullptr;
  out.backward = node && !(call && call->node == node);
  if (out.backward) {
    const ForwardCall forward = forward_of_node(node);
    out.operations = forward.context;
    out.call = forward.id;
    out.node = node;
  } else if (call && call->stack > __builtin_frame_address(0)) {
    out.operations = call->operations;
    out.call = call->id;
  }
  return out.operations != nullptr;
}

const CalledModule* find_called_module(const Gil& gil, Object* module) {
  if (!g_calls) return nullptr;
  const std::vector<Running>& all = running();
  return g_calls->listener.find(gil, module, all.empty() ? nullptr : all.back().module);
}

RunningModule running_module() {
  if (!t_running || t_running->empty()) return {};
  return {t_running->back().id, t_running->back().module->path_id};
}

void end_running_calls() {
  if (!g_calls) return;
  while (t_running && !t_running->empty()) {
    const Running call = t_running->back();
    t_running->pop_back();
    end_call(*g_calls, call, false, true);
  }
  add_backward_rows(true);
}

}  // namespace tensorscope::torch_events
