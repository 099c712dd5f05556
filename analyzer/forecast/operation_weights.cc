// SPDX-License-Identifier: Apache-2.0
#include "forecast/operation_weights.h"

#include <algorithm>

#include "forecast/shape_relations.h"

namespace tensorscope::analyzer::forecast {

std::vector<Weight> weights_of(const Sample& base) {
  std::vector<Weight> weights;
  const Dump& dump = base.opened->dump;
  const Holders& holders = base.opened->holders;
  for (size_t i = 0; i < dump.storages.size(); ++i) {
    const uint32_t representative = holders.representative(uint32_t(i));
    if (dump.storages[i].device != base.device || representative == kNone) continue;
    const Tensor& tensor = dump.tensors[representative];
    if (holders.category(representative) != Category::parameter || tensor.sizes.empty()) continue;
    const int64_t columns = tensor.sizes.size() < 2 ? 0 : tensor.sizes[1];
    weights.push_back(
        {holders.module(representative), tensor.sizes, tensor.sizes[0], columns, double(dump.storages[i].own_nbytes)});
  }
  return weights;
}

bool OperationWeights::is_broadcast(uint32_t index, std::span<const int64_t> shape) const {
  const std::string& module = module_of(index);
  return std::ranges::any_of(weights_, [&](const Weight& weight) {
    return weight.module == module && !weight.computed && broadcasts(weight.shape, shape);
  });
}

bool OperationWeights::may_join(uint32_t index, int64_t numel) const {
  const std::string& module = module_of(index);
  return std::ranges::any_of(weights_, [&](const Weight& weight) {
    return weight.module == module && !weight.computed && numel % elements(weight.shape) == 0;
  });
}

bool OperationWeights::compute(uint32_t index, std::span<const int64_t> shape) {
  const std::string& module = module_of(index);
  const auto found = std::ranges::find_if(weights_, [&](const Weight& weight) {
    return weight.module == module && std::ranges::equal(weight.shape, shape);
  });
  if (found == weights_.end()) return false;
  found->computed = true;
  return true;
}

bool OperationWeights::computes(uint32_t index) const {
  return std::ranges::any_of(
      weights_, [&](const Weight& weight) { return weight.computed && weight.module == module_of(index); });
}

// A bias by position has three dimensions as well; a product of batches is as long as its weight.
Weight* OperationWeights::weight_of(uint32_t index, std::span<const int64_t> shape, bool convolves, int64_t columns) {
  const std::string& module = module_of(index);
  Weight* own = nullptr;
  Weight* below = nullptr;
  Weight* any = nullptr;
  for (Weight& weight : weights_) {
    if (weight.columns == 0) continue;
    if (!convolves && weight.shape.size() > 2 && weight.shape[0] != shape[0]) continue;
    if (weight.module == module && (own == nullptr || weight.rows == columns)) own = &weight;
    if (weight.rows != columns) continue;
    if (below == nullptr && weight.module.starts_with(module + ".")) below = &weight;
    if (any == nullptr) any = &weight;
  }
  if (own != nullptr) return own;
  return below != nullptr ? below : operations_.all[index].traits.linear ? any : nullptr;
}

std::vector<Weight*> OperationWeights::layer_weights(uint32_t index, int64_t columns) {
  std::vector<Weight*> found;
  for (Weight& weight : weights_) {
    if (weight.module == module_of(index) && weight.columns != 0 && columns != 0 && weight.rows % columns == 0) {
      found.push_back(&weight);
    }
  }
  return found;
}

std::vector<Weight*> OperationWeights::possible_weights(uint32_t index, std::span<const int64_t> shape) {
  const std::string& module = module_of(index);
  std::vector<Weight*> found;
  for (Weight& weight : weights_) {
    const bool own = weight.module == module || weight.module.starts_with(module + ".");
    const bool fits = weight.rows == shape.back() || (shape.size() >= 3 && weight.rows == shape[1]);
    if (weight.columns != 0 && (own || fits)) found.push_back(&weight);
  }
  return found;
}

}  // namespace tensorscope::analyzer::forecast
