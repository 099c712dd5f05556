// SPDX-License-Identifier: Apache-2.0
#include "leaks/larger_inputs.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "symbols/user_code.h"

namespace tensorscope::analyzer {

namespace {

// Operations whose result has nothing of an earlier tensor of the same kind: random numbers, counting, batches of
// samples. Others may continue one.
bool makes_new_data(std::string_view operation) {
  static const std::unordered_set<std::string_view> kOperations = {
      "arange",       "bernoulli", "embedding", "linspace", "multinomial", "normal",   "one_hot",
      "pad_sequence", "rand",      "randint",   "randn",    "randint_low", "randperm", "stack"};
  return kOperations.contains(operation.substr(0, operation.find("_generator")));
}

bool is_new_data(const View& view, uint32_t tensor) {
  if (view.holders.category(tensor) == Category::input_batch) return true;
  const Item& item = view.accounts.items()[view.accounts.item_of_tensor(tensor)];
  if (item.allocation == kNone || item.site == 0) return false;
  std::string_view outermost;
  view.places.unread().operation(item.site);
  for (const Frame& frame : view.places.stack(item.site)) {
    if (frame.language == Frame::Language::python) break;
    if (frame.function.find("internal_new_from_data") != std::string::npos) return true;  // torch.tensor(list)
    const std::string_view operation = dispatched_overload(frame.function);
    if (!operation.empty()) outermost = operation;
  }
  return makes_new_data(outermost);
}

}  // namespace

uint64_t first_larger_input(const View& view, std::span<const uint32_t> tensors) {
  uint64_t first = UINT64_MAX;
  for (uint32_t tensor : tensors) {
    if (made_at(view, tensor) < first && is_new_data(view, tensor)) first = made_at(view, tensor);
  }
  return first;
}

}  // namespace tensorscope::analyzer
