// SPDX-License-Identifier: Apache-2.0
// What is taken of modules: what a call was given and returned, parameters, buffers, gradients, and what an optimizer
// keeps for a parameter.
//
// Context: with the GIL, under an InsideScope.
#pragma once

#include <cstdint>
#include <vector>

#include "python/interpreter.h"
#include "python/module_entry.h"
#include "python/tensors_inside.h"
#include "tensorscope/rules/watch_spec.h"
#include "torch_events/steps.h"
#include "watch/callbacks.h"
#include "watch/module_paths.h"
#include "watch/tensor_capture.h"

namespace tensorscope::watch {

class ModuleValues {
 public:
  // Both outlive it.
  ModuleValues(const std::vector<rules::WatchSpec>& watches, ModulePaths& paths) : watches_(watches), paths_(paths) {}

  // Those that are watched and due at the current step.
  void take_inputs(const python::Gil& gil, WatchedModule& module, const python::ModuleCall& call, const Origin& origin);
  void take_outputs(const python::Gil& gil, WatchedModule& module, python::Object* result, const Origin& origin);
  void take_attributes(const python::Gil& gil, rules::WatchOf of);
  void take_optimizer_state(const python::Gil& gil, python::Object* optimizer);

 private:
  struct Taking;

  template <typename Structure>
  void take_all(const python::Gil& gil, WatchedModule& module, const std::vector<Wanted>& wanted,
                const Structure& structure, const Origin& origin, const char* ending);
  void take_inside(Taking& taking, const python::TensorInside& inside);
  template <typename F>
  void each_attribute(const python::Gil& gil, rules::WatchOf of, F f);
  void take_for_watch(const python::Gil& gil, uint32_t watch, uint32_t name, const CallbackValue& value,
                      const Origin& origin);
  bool any_is_due(const std::vector<Wanted>& wanted, const torch_events::OptimizerStep& step) const;

  const std::vector<rules::WatchSpec>& watches_;
  ModulePaths& paths_;
};

}  // namespace tensorscope::watch
