// SPDX-License-Identifier: Apache-2.0
#include "watch/operation_values.h"

#include <stdio.h>

#include <algorithm>

#include "live/node_table.h"
#include "live/site_table.h"
#include "live/tensor_table.h"
#include "stacks/capture.h"
#include "support/fresh_in_child.h"
#include "support/message.h"
#include "torch_events/operation_kinds.h"
#include "torch_events/operation_trace.h"
#include "values_file/source_places.h"
#include "values_file/value_store.h"
#include "watch/tensor_capture.h"
#include "watch/watched_calls.h"

namespace tensorscope::watch {

namespace {

using torch_events::Operation;
using torch_events::OptimizerStep;
using torch_events::Values;
using values_file::text_id;

// The operation that the program called, of this thread; what is called within it lies deeper on the stack.
constinit thread_local const void* t_called = nullptr;

// Written as Python would: aten::chunk[1].
struct Way {
  bool several = false;  // results
  bool list = false;
  size_t result = 0, element = 0;
};

// The node whose backward a thread runs, by the name that the engine gives to what runs around it: for a Function of
// Python its class. Reentrant passes nest.
struct NodeName {
  const void* record;
  uint32_t text;  // a number of text_id(): each thread's own memory is small
};
constexpr int kMaxNested = 4;
struct NodeNames {
  NodeName all[kMaxNested];
  int count = 0;
};
constinit thread_local NodeNames t_nodes = {};
FreshInChild g_fresh_nodes{[] { make_anew(t_nodes); }};  // texts have other numbers in a child's file

std::string node_name() {
  const NodeNames& nodes = t_nodes;
  const bool known = nodes.count > 0 && nodes.all[nodes.count - 1].record > __builtin_frame_address(0);
  const std::string name = known ? values_file::text_of_id(nodes.all[nodes.count - 1].text) : "";
  return name.empty() ? "backward" : name;
}

// Where the node was made.
StackId forward_stack(const void* node) {
  const SiteId site = live::g_nodes.site_at(node);
  return site == 0 ? StackId{0} : live::g_sites.stack_of(site).python;
}

struct TakingResults {
  const char* name;
  const WatchedOperations& watched;
  OptimizerStep step;
  Origin origin;
  Way way;
};

void take_result(TakingResults& taking, const void* impl) {
  char name[1024];
  int length = taking.watched.backward
                   ? snprintf(name, sizeof name, "%s/%s/%s", taking.watched.path, node_name().c_str(), taking.name)
                   : snprintf(name, sizeof name, "%s/%s", taking.watched.path, taking.name);
  const auto add = [&](size_t index) {
    if (length > 0 && size_t(length) < sizeof name) {
      length += snprintf(name + length, sizeof name - size_t(length), "[%zu]", index);
    }
  };
  if (taking.way.several) add(taking.way.result);
  if (taking.way.list) add(taking.way.element);
  const uint32_t id = text_id({name, std::min(size_t(length), sizeof name - 1)});
  taking.origin.index = next_index(id);
  const python::LiveTensor tensor = {impl, live::g_tensors.serial(impl)};
  for (const uint32_t watch : *taking.watched.watches) {
    const rules::WatchSpec& spec = (*taking.watched.specs)[watch];
    if (is_due(spec, taking.step)) take_tensor(spec, watch, id, tensor, taking.origin);
  }
}

// "struct torch::autograd::AccumulateGrad" is AccumulateGrad.
std::string_view unqualified_node(std::string_view name) {
  const size_t colon = name.substr(0, name.find('<')).rfind(':');
  return colon == name.npos ? name : name.substr(colon + 1);
}

void enter_node(const Operation& operation, std::string_view name) {
  NodeNames& nodes = t_nodes;
  while (nodes.count > 0 && nodes.all[nodes.count - 1].record <= operation.record) --nodes.count;
  if (nodes.count == kMaxNested) return;
  nodes.all[nodes.count].record = operation.record;
  nodes.all[nodes.count].text = text_id(unqualified_node(name));
  ++nodes.count;
}

bool enter_called(const Operation& operation, const Values&) {
  constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";
  if (const std::string_view name = operation.name(); name.starts_with(kEngine)) {
    enter_node(operation, name.substr(kEngine.size()));
  }
  // A record that does not lie deeper is of an operation whose end nobody told.
  if (t_called != nullptr && operation.record < t_called) return false;
  t_called = torch_events::is_operation(operation.name()) ? operation.record : nullptr;
  return false;
}

bool leave_called(const Operation& operation, const Values& results) {
  if (t_nodes.count > 0 && t_nodes.all[t_nodes.count - 1].record == operation.record) --t_nodes.count;
  if (t_called != operation.record) return false;
  t_called = nullptr;
  WatchedOperations watched;
  const char* name = operation.name();
  if (torch_events::kind_of(name).origin == torch_events::ValueOrigin::uninitialised || !watched_operations(watched))
    return false;
  const OptimizerStep step = torch_events::current_step();
  const auto due = [&](uint32_t watch) { return is_due((*watched.specs)[watch], step); };
  if (std::none_of(watched.watches->begin(), watched.watches->end(), due)) return false;
  TakingResults taking = {name, watched, step, {}, {}};
  taking.origin.place = watched.backward ? format::ValuePlace::backward : format::ValuePlace::output;
  taking.origin.call = watched.call;
  taking.origin.module = watched.module;
  taking.origin.operation = text_id(name);
  taking.origin.site =
      values_file::source_place_of(watched.backward ? forward_stack(watched.node) : stacks::capture_python_part());
  taking.way.several = results.count > 1;
  for (size_t i = 0; i < results.count; ++i) {
    const torch_events::Value& value = results.first[i];
    taking.way.result = i;
    taking.way.list = value.tag != torch_events::kTensorTag;
    taking.way.element = 0;
    torch_events::each_tensor(value, [&](const void* impl) {
      take_result(taking, impl);
      ++taking.way.element;
    });
  }
  return false;
}

}  // namespace

void start_operation_values() {
  const Status traced = torch_events::trace_operations({enter_called, leave_called, [] {}});
  if (traced) return;
  say("results of operations are not watched: %s", traced.why());
  values_file::count_loss("operations", traced.why());
}

}  // namespace tensorscope::watch
