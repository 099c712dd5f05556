// SPDX-License-Identifier: Apache-2.0
#include "watch/watched_calls.h"

#include <algorithm>
#include <new>
#include <utility>

#include "python/gil_thread.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "torch_events/module_calls.h"
#include "watch/callbacks.h"
#include "watch/device_values.h"
#include "watch/module_paths.h"
#include "watch/module_values.h"
#include "watch/watched_scopes.h"

namespace tensorscope::watch {

namespace {

using format::ValuePlace;
using python::ModuleCall;
using rules::WatchOf;
using rules::WatchSpec;
using torch_events::CalledModule;
using torch_events::CallPlace;

struct Watched {
  explicit Watched(std::vector<WatchSpec> given) : watches(std::move(given)), paths(watches) {}
  std::vector<WatchSpec> watches;
  ModulePaths paths;
  ModuleValues values{watches, paths};
  WatchedScopes scopes{paths};
};

Watched* g_watched = nullptr;
// Texts have other numbers in a child's own file, so modules are named anew.
FreshInChild g_fresh_watched{[] {
  if (g_watched) g_watched = new (std::nothrow) Watched(g_watched->watches);
}};

// The look at the whole program wants a thread that is not traced and on which no garbage is collected.
class PathJob : public python::GilJob {
 public:
  PathJob(ModulePaths& paths, Object* module, const WatchedModule* caller)
      : paths_(paths), module_(module), caller_(caller) {}
  void run(const Gil& gil) override { found = paths_.of(gil, module_, caller_); }
  WatchedModule* found = nullptr;

 private:
  ModulePaths& paths_;
  Object* module_;
  const WatchedModule* caller_;
};

WatchedModule& watched(CalledModule& module) { return static_cast<WatchedModule&>(module); }
const WatchedModule& watched(const CalledModule& module) { return static_cast<const WatchedModule&>(module); }

class Listener final : public torch_events::CallListener {
 public:
  bool is_calling() const override { return in_callback(); }

  CalledModule* find(const Gil& gil, Object* module, const CalledModule* caller) override {
    if (!g_watched) return nullptr;
    if (WatchedModule* known = g_watched->paths.known(gil, module)) return known;
    const python::LentGil lent;
    PathJob job(g_watched->paths, module, caller ? &watched(*caller) : nullptr);
    if (python::run_with_gil(&job, python::Deadline::never(), UINT32_MAX) != python::GilOutcome::done) return nullptr;
    return job.found;
  }

  void pass_begins(const Gil& gil) override {
    if (!wants_attributes()) return;
    run_or_abandon_on_oom([&] {
      g_watched->values.take_attributes(gil, WatchOf::parameters);
      g_watched->values.take_attributes(gil, WatchOf::buffers);
    });
  }

  bool wants_line(const CalledModule& module) const override { return watched(module).is_watched(); }

  const void* operations_within(const void* around, const CalledModule& module) override {
    return g_watched ? g_watched->scopes.within(static_cast<const WatchedScope*>(around), watched(module)) : nullptr;
  }

  void call_ends(const Gil& gil, CalledModule& called, const ModuleCall& call, const CallPlace& place) override {
    if (!g_watched) return;
    WatchedModule& module = watched(called);
    Origin origin;
    origin.call = place.call;
    origin.module = place.module;
    origin.site = place.site;
    origin.index = place.index;
    if (!module.inputs.empty()) {
      origin.place = ValuePlace::input;
      g_watched->values.take_inputs(gil, module, call, origin);
    }
    if (call.result) {
      origin.place = ValuePlace::output;
      g_watched->values.take_outputs(gil, module, call.result, origin);
    }
  }

  void step_begins(const Gil& gil) override {
    if (!wants_attributes()) return;
    run_or_abandon_on_oom([&] {
      g_watched->paths.look_for_attributes(gil);
      g_watched->values.take_attributes(gil, WatchOf::gradients);
    });
  }

  void step_ends(const Gil& gil, Object* optimizer) override {
    if (!wants_attributes()) return;
    run_or_abandon_on_oom([&] { g_watched->values.take_optimizer_state(gil, optimizer); });
  }

  void step_has_ended(uint32_t number) override { remember_step_end(number); }

  void after_event(const Gil& gil) override { call_back(gil); }

 private:
  static bool wants_attributes() { return g_watched && g_watched->paths.wants_attributes(); }
};

Listener g_call_listener;

}  // namespace

void start_watched_calls(std::vector<WatchSpec> watches, bool record_calls) {
  const bool operations = std::any_of(watches.begin(), watches.end(),
                                      [](const WatchSpec& watch) { return watch.of == WatchOf::operations; });
  g_watched = new (std::nothrow) Watched(std::move(watches));
  if (g_watched) torch_events::start_module_calls({record_calls, operations}, g_call_listener);
}

Origin here() {
  const CallPlace place = torch_events::place_in_program();
  Origin origin;
  origin.site = place.site;
  origin.call = place.call;
  origin.module = place.module;
  return origin;
}

bool watched_operations(WatchedOperations& out) {
  torch_events::OperationCall call;
  if (!g_watched || prepares_buffers() || !torch_events::call_of_operation(call)) return false;
  const auto* const scope = static_cast<const WatchedScope*>(call.operations);
  out = {&scope->watches, &g_watched->watches, scope->path.c_str(), call.call, scope->module, call.backward, call.node};
  return true;
}

const std::vector<WatchSpec>& all_watches() {
  static const std::vector<WatchSpec>* const none = new std::vector<WatchSpec>;
  return g_watched ? g_watched->watches : *none;
}

void mark_watch_matched(uint32_t watch) {
  if (g_watched) g_watched->paths.mark_matched(watch);
}

const WatchedModule* module_of(const Gil& gil, Object* module) {
  return static_cast<const WatchedModule*>(torch_events::find_called_module(gil, module));
}

bool is_watch_matched(uint32_t watch) { return g_watched && g_watched->paths.matched(watch); }

std::vector<std::string> nearest_paths(const std::string& path) {
  return g_watched ? g_watched->paths.nearest(path) : std::vector<std::string>();
}

}  // namespace tensorscope::watch
