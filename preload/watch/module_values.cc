// SPDX-License-Identifier: Apache-2.0
#include "watch/module_values.h"

#include <algorithm>
#include <string>

#include "python/heap_inspector/graph/attributes.h"
#include "python/objects.h"
#include "python/tensors_inside.h"
#include "tensor_values/tensor_view.h"
#include "tensorscope/values_format.h"
#include "values_file/value_store.h"
#include "watch/callbacks.h"
#include "watch/tensor_capture.h"

namespace tensorscope::watch {

namespace {

using format::ValuePlace;
using python::each_entry;
using python::Gil;
using python::live_tensor;
using python::LiveTensor;
using python::Object;
using python::text_of;
using rules::WatchOf;
using rules::WatchSpec;
using torch_events::current_step;
using torch_events::OptimizerStep;

uint32_t name_within(WatchedModule& module, std::string_view way, const char* ending = "") {
  const std::string key = std::string(ending).append(way);
  for (const auto& [known, id] : module.names) {
    if (known == key) return id;
  }
  const uint32_t id = values_file::text_id(module.path + ending + std::string(way));
  module.names.emplace_back(key, id);
  return id;
}

ValuePlace place_of(WatchOf of) {
  switch (of) {
    case WatchOf::parameters:
      return ValuePlace::parameter;
    case WatchOf::buffers:
      return ValuePlace::buffer;
    case WatchOf::gradients:
      return ValuePlace::gradient;
    case WatchOf::optimizer_state:
      return ValuePlace::optimizer_state;
    default:
      return ValuePlace::other;
  }
}

}  // namespace

void ModuleValues::take_for_watch(const Gil& gil, uint32_t watch, uint32_t name, const CallbackValue& value,
                                  const Origin& origin) {
  const WatchSpec& spec = watches_[watch];
  if (!has_wanted_dtype(spec, value.tensor)) return;
  if (has_callbacks(watch)) {
    remember_for_callbacks(gil, watch, name, value, origin);
  } else {
    take_tensor(spec, watch, name, value.tensor, origin);
  }
  paths_.mark_matched(watch);
}

struct ModuleValues::Taking {
  const Gil& gil;
  WatchedModule& module;
  const std::vector<Wanted>& wanted;
  Origin origin;
  const char* ending;  // between the module's path and the way
  OptimizerStep step;
};

void ModuleValues::take_inside(Taking& taking, const python::TensorInside& inside) {
  for (const Wanted& wanted : taking.wanted) {
    const WatchSpec& watch = watches_[wanted.watch];
    if (!is_due(watch, taking.step)) continue;
    if (!wanted.whole) {
      if (match_module(watch, taking.module, rules::path_segments(inside.way)) != rules::PathMatch::whole) continue;
    }
    take_for_watch(taking.gil, wanted.watch, name_within(taking.module, inside.way, taking.ending),
                   {inside.object, inside.tensor}, taking.origin);
  }
}

bool ModuleValues::any_is_due(const std::vector<Wanted>& wanted, const OptimizerStep& step) const {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const Wanted& each) { return is_due(watches_[each.watch], step); });
}

// `structure`: an object, or the call whose arguments are meant.
template <typename Structure>
void ModuleValues::take_all(const Gil& gil, WatchedModule& module, const std::vector<Wanted>& wanted,
                            const Structure& structure, const Origin& origin, const char* ending) {
  const OptimizerStep step = current_step();
  if (wanted.empty() || !any_is_due(wanted, step)) return;
  Taking taking = {gil, module, wanted, origin, ending, step};
  python::each_tensor_inside(gil, structure, [&](const python::TensorInside& inside) { take_inside(taking, inside); });
}

void ModuleValues::take_inputs(const Gil& gil, WatchedModule& module, const python::ModuleCall& call,
                               const Origin& origin) {
  take_all(gil, module, module.inputs, call, origin, "(in)");
}

void ModuleValues::take_outputs(const Gil& gil, WatchedModule& module, Object* result, const Origin& origin) {
  take_all(gil, module, module.outputs, result, origin, "");
}

// Of the attributes that are watched, those of this kind.
template <typename F>
void ModuleValues::each_attribute(const Gil& gil, WatchOf of, F f) {
  const OptimizerStep step = current_step();
  paths_.each_with_attributes(gil, [&](Object* object, WatchedModule& module) {
    const bool any = std::any_of(module.attributes.begin(), module.attributes.end(), [&](const auto& attribute) {
      return attribute.of == of && is_due(watches_[attribute.watch], step);
    });
    if (!any) return;
    python::heap_inspector::Attributes attributes(gil);
    Object* dict = attributes.find(object, of == WatchOf::buffers ? "_buffers" : "_parameters");
    each_entry(gil, dict, [&](Object* key, Object* value) {
      const std::string_view name = text_of(gil, key);
      for (const WatchedModule::Attribute& attribute : module.attributes) {
        if (attribute.of == of && attribute.name == name && is_due(watches_[attribute.watch], step)) {
          f(module, attribute, value);
        }
      }
      return true;
    });
  });
}

void ModuleValues::take_attributes(const Gil& gil, WatchOf of) {
  each_attribute(gil, of, [&](WatchedModule& module, const WatchedModule::Attribute& attribute, Object* value) {
    LiveTensor tensor = live_tensor(gil, value);
    if (tensor.serial == 0) return;
    if (of == WatchOf::gradients) {
      tensor_values::TensorView view;
      tensor_values::view_tensor(tensor.impl, view);  // so that the layout is known
      tensor = {tensor_values::gradient_of(tensor.impl), 0};
      if (!tensor.impl) return;
    }
    Origin origin;
    origin.place = place_of(of);
    origin.module = module.path_id;
    take_for_watch(gil, attribute.watch, attribute.name_id, {value, tensor, of == WatchOf::gradients}, origin);
  });
}

// `state`: the optimizer's, a dict of dicts by parameter.
void ModuleValues::take_optimizer_state(const Gil& gil, Object* optimizer) {
  python::heap_inspector::Attributes attributes(gil);
  Object* state = attributes.find(optimizer, "state");
  each_attribute(gil, WatchOf::optimizer_state,
                 [&](WatchedModule& module, const WatchedModule::Attribute& attribute, Object* parameter) {
                   each_entry(gil, state, [&](Object* key, Object* own) {
                     if (key != parameter) return true;
                     each_entry(gil, own, [&](Object* name, Object* value) {
                       const LiveTensor tensor = live_tensor(gil, value);
                       if (tensor.serial == 0) return true;
                       Origin origin;
                       origin.place = ValuePlace::optimizer_state;
                       origin.module = module.path_id;
                       const uint32_t text =
                           name_within(module, text_of(gil, name), ("." + attribute.name + ".").c_str());
                       take_for_watch(gil, attribute.watch, text, {value, tensor}, origin);
                       return true;
                     });
                     return false;
                   });
                 });
}

}  // namespace tensorscope::watch
