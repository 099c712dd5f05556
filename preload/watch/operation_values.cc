#include "watch/operation_values.h"

#include <stdio.h>

#include <algorithm>

#include "live/recorder.h"
#include "live/tensor_table.h"
#include "stacks/capture.h"
#include "support/message.h"
#include "watch/module_calls.h"
#include "watch/operation_kinds.h"
#include "watch/operation_trace.h"
#include "watch/source_places.h"
#include "watch/taken_tensors.h"
#include "watch/value_store.h"

namespace tensorscope::watch {

namespace {

// The operation that the program called, of this thread; what is called within it lies deeper on the stack.
constinit thread_local const void* t_called = nullptr;

// Written as Python would: aten::chunk[1].
struct Way {
  bool several = false;  // results
  bool list = false;
  size_t result = 0, element = 0;
};

struct TakingResults {
  const char* name;
  const WatchedOperations& watched;
  Step step;
  Origin origin;
  Way way;
};

void take_result(TakingResults& taking, const void* impl) {
  char name[1024];
  int length = snprintf(name, sizeof name, "%s/%s", taking.watched.path, taking.name);
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

bool enter_called(const Operation& operation, const Values&) {
  // A record that does not lie deeper is of an operation whose end nobody told.
  if (t_called != nullptr && operation.record < t_called) return false;
  t_called = is_operation(operation.name()) ? operation.record : nullptr;
  return false;
}

bool leave_called(const Operation& operation, const Values& results) {
  if (t_called != operation.record) return false;
  t_called = nullptr;
  WatchedOperations watched;
  const char* name = operation.name();
  if (!watched_operations(watched) || live::running_node_address() != watched.node ||
      kind_of(name).makes == Makes::uninitialised) {
    return false;
  }
  const Step step = current_step();
  const auto due = [&](uint32_t watch) { return is_due((*watched.specs)[watch], step); };
  if (std::none_of(watched.watches->begin(), watched.watches->end(), due)) return false;
  TakingResults taking = {name, watched, step, {}, {}};
  taking.origin.place = format::ValuePlace::output;
  taking.origin.call = watched.call;
  taking.origin.has_gil = false;
  taking.origin.module = watched.module;
  taking.origin.operation = text_id(name);
  taking.origin.site = source_place_of(stacks::capture_python_part());
  taking.way.several = results.count > 1;
  for (size_t i = 0; i < results.count; ++i) {
    const Value& value = results.first[i];
    taking.way.result = i;
    taking.way.list = value.tag != kTensorTag;
    taking.way.element = 0;
    each_tensor(
        value,
        [](const void* impl, void* context) {
          auto* taking = static_cast<TakingResults*>(context);
          take_result(*taking, impl);
          ++taking->way.element;
        },
        &taking);
  }
  return false;
}

}  // namespace

void start_operation_values() {
  if (const char* why = trace_operations({enter_called, leave_called, [] {}}); why != nullptr) {
    say("results of operations are not watched: %s", why);
    count_loss("operations", why);
  }
}

}  // namespace tensorscope::watch
