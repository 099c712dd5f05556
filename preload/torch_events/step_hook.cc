// SPDX-License-Identifier: Apache-2.0
#include "torch_events/step_hook.h"

#include "python/heap_inspector/graph/type_fields.h"
#include "python/imported_whole.h"
#include "python/method.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "support/options.h"
#include "support/process_info.h"
#include "support/state.h"
#include "torch_events/module_calls.h"
#include "torch_events/step_hook.py.h"
#include "torch_events/steps.h"

namespace tensorscope::torch_events {

namespace {

using python::Object;
using python::Owned;

bool g_hook_wanted = false, g_hook_registered = false;

// Where hooks of modules came later (values of the program's own), these count.
Object* step_ended(Object*, Object*) {
  if (!has_module_calls()) {
    {
      const InsideScope inside;
      end_step();
    }
    tell_step_end();
  }
  return python::new_none(*python::known_interpreter());
}
Object* counts(Object*, Object*) {
  steps_are_counted();
  return python::new_none(*python::known_interpreter());
}

python::MethodDefinition g_step_ended = {"step_ended", step_ended, python::kNoArguments, nullptr};
python::MethodDefinition g_counts = {"counts", counts, python::kNoArguments, nullptr};

}  // namespace

bool step_hook_is_wanted() {
  start_process_info();
  const char* const steps = options().dump_at_step;
  return process_info().rank >= 0 || (steps && *steps != 0);
}

void want_step_hook() { g_hook_wanted = true; }

bool register_step_hook(const python::Gil& gil) {
  if (!g_hook_wanted || g_hook_registered || has_module_calls()) return true;
  if (!python::imported_whole(gil, "torch.optim.optimizer") || !python::heap_inspector::check_type_fields(gil))
    return false;
  const Owned globals(gil, python::run_own_source(gil, embedded::kStepHook, {&g_step_ended, &g_counts},
                                                  {{"torch", python::loaded_module(gil, "torch")},
                                                   {"optim", python::loaded_module(gil, "torch.optim.optimizer")}}));
  g_hook_registered = true;
  return true;
}

}  // namespace tensorscope::torch_events
