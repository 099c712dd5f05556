// SPDX-License-Identifier: Apache-2.0
#include "torch_events/torch_layout_probe.h"

#include <utility>

#include "python/gil_thread.h"
#include "python/method.h"
#include "python/named_tensors.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "support/state.h"
#include "torch/metadata/torch_functions.h"
#include "torch_events/backward_calls.h"
#include "torch_events/operation_trace.h"
#include "torch_events/torch_layout_probe.py.h"

namespace tensorscope::torch_events {

namespace {

using python::Api;
using python::Gil;
using python::Object;
using python::Owned;

Object* node_made(Object*, Object* tensor) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  const InsideScope inside;
  static torch::TorchFunctions functions;
  const void* const impl = python::live_tensor(gil, tensor).impl;
  if (impl && torch::resolve_torch_functions(functions) && functions.grad_fn) {
    if (const void* node = functions.grad_fn(&impl)) learn_from_new_node(node);
  }
  return python::new_none(api);
}

python::MethodDefinition g_node_made = {"made", node_made, python::kOneArgument, nullptr};

// Returns a new reference that is kept for the rest of the process (it may be called again), or null if it could not
// be made.
Object* make_function(const Gil& gil, Object* torch) {
  Object* globals = python::run_own_source(gil, embedded::kTorchLayoutProbe, {&g_node_made}, {{"torch", torch}});
  return globals ? python::entry(gil, globals, "tensorscope_torch_layout_probe") : nullptr;
}

class FirstOperations : public python::GilJob {
 public:
  explicit FirstOperations(Object* torch) : torch_(torch) {}
  void run(const Gil& gil) override {
    static Object* const function = make_function(gil, torch_);
    if (!function) return;
    const OperationsOnlyTeach only_teach;
    // As the program's own: the tables of what is alive know these tensors.
    const uint32_t inside = std::exchange(t_inside, 0);
    const Owned done(gil, gil->PyObject_CallFunctionObjArgs(function, nullptr));
    t_inside = inside;
  }

 private:
  Object* torch_;
};

}  // namespace

bool run_torch_layout_probe(const Gil&, Object* torch) {
  if (!torch || program_follows_operations()) return false;
  auto* const job = new FirstOperations(torch);
  const python::ReleasedGil released;
  const python::GilOutcome outcome = python::run_with_gil(job, python::Deadline::in_ms(kLayoutProbeMs), kLayoutProbeMs);
  if (outcome != python::GilOutcome::stuck) delete job;
  return true;
}

}  // namespace tensorscope::torch_events
