// SPDX-License-Identifier: Apache-2.0
#include "python/module_outputs.h"

#include <algorithm>
#include <new>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "live/tensor_serial.h"
#include "python/imported_whole.h"
#include "python/module_entry.h"
#include "python/objects.h"
#include "python/tensors_inside.h"
#include "support/coverage.h"
#include "support/enough_memory.h"
#include "support/state.h"

namespace tensorscope::python {

namespace {

constexpr size_t kFirstRows = 1024;
// Where no more rows may be had, all are looked at again after so many outputs: else each would cost a look at all.
constexpr size_t kOutputsBetweenLooks = kMaxOutputs / 8;

size_t g_since_look = 0;  // outputs offered; under the GIL

// Never destroyed.
std::vector<ModuleOutput>& outputs() {
  alignas(std::vector<ModuleOutput>) static char memory[sizeof(std::vector<ModuleOutput>)];
  static auto* const made = new (memory) std::vector<ModuleOutput>;
  return *made;
}

// Leaves one row of a module that returns the same tensor again and again (its weight).
void forget(const Gil& gil) {
  std::vector<ModuleOutput>& all = outputs();  // one without a module: memory ran out here
  std::set<std::tuple<uint64_t, const Object*, std::string_view>> seen;
  for (size_t i = all.size(); i-- > 0;) {
    ModuleOutput& output = all[i];
    if (output.module && live::tensor_serial(output.impl) == output.serial &&
        gil->PyWeakref_GetObject(output.module) != gil->_Py_NoneStruct &&
        seen.emplace(output.serial, output.module, output.way).second) {
      continue;
    }
    gil->Py_DecRef(output.module);
    output.module = nullptr;
  }
  std::erase_if(all, [](const ModuleOutput& output) { return output.module == nullptr; });
}

bool too_many() {
  set_coverage(Subject::module_outputs, Seen::partly, "too many live outputs to record");
  count_missed(Subject::module_outputs);
  return false;
}

bool has_room(const Gil& gil) {
  std::vector<ModuleOutput>& all = outputs();
  ++g_since_look;
  if (all.size() < all.capacity()) return true;
  if (all.capacity() >= kMaxOutputs && g_since_look < kOutputsBetweenLooks) return too_many();
  forget(gil);  // so that a look at all of them is paid for by the growth
  g_since_look = 0;
  if (all.size() >= kMaxOutputs) return too_many();
  if (all.size() * 2 >= all.capacity()) {
    make_room(all, std::min(std::max(all.capacity() * 2, kFirstRows), kMaxOutputs));
  }
  return true;
}

void add(const Gil& gil, Object* module, const TensorInside& inside) {
  if (!has_room(gil)) return;
  std::string way = inside.way;
  Object* reference = gil->PyWeakref_NewRef(module, nullptr);
  if (!reference) return gil->PyErr_Clear();
  outputs().push_back({inside.tensor.serial, inside.tensor.impl, reference, std::move(way)});
}

// Whatever it is given, the program goes on.
void record(const Gil& gil, const ModuleCall& call) {
  if (!call.result) return;
  const InsideScope inside;
  run_or_abandon_on_oom([&] {
    each_tensor_inside(gil, call.result, [&](const TensorInside& inside) { add(gil, call.module, inside); });
  });
}

}  // namespace

bool record_module_outputs(const Gil& gil) {
  if (!imported_whole(gil, "torch.nn.modules.module")) {
    set_coverage(Subject::module_outputs, Seen::no, "torch.nn was not imported yet");
    return false;
  }
  const Status observed = observe_module_calls(gil, {nullptr, record});
  set_coverage(Subject::module_outputs, observed ? Seen::yes : Seen::no, observed.why());
  return true;
}

void each_module_output(const Gil& gil, FunctionRef<void(const ModuleOutput& output, Object* module)> f) {
  if (outputs().empty()) return;
  forget(gil);
  for (const ModuleOutput& output : outputs()) f(output, gil->PyWeakref_GetObject(output.module));
}

}  // namespace tensorscope::python
