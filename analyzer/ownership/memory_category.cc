// SPDX-License-Identifier: Apache-2.0
#include "ownership/memory_category.h"

#include "tensorscope/rules/user_code.h"

namespace tensorscope::analyzer {

MemoryCategory inferred_category(uint8_t parts, bool backward, AllocationLife life) {
  const auto inferred = [](Category category, const char* why) {
    return MemoryCategory{category, CategorySource::inferred, why};
  };
  if ((parts & (code::kDataLoading | code::kOtherProcess)) != 0) {
    return inferred(Category::input_batch, "made by data loading");
  }
  if ((parts & code::kCommunication) != 0) return inferred(Category::communication_bucket, "made by torch.distributed");
  if ((parts & code::kOptimizer) != 0) {
    if (life.past_step) return inferred(Category::optimizer_state, "made by torch.optim, alive after its step");
    if (life.freed) return inferred(Category::temporary, "made by torch.optim, freed in its step");
    return {};
  }
  if (backward) {
    if (life.past_step) return inferred(Category::gradient, "made in a backward pass, alive after its step");
    if (life.freed) return inferred(Category::backward_temporary, "made in a backward pass, freed in its step");
    return {};
  }
  const bool call = (parts & (code::kModuleCall | code::kFunction)) != 0;
  if (!call && (parts & code::kModuleCode) != 0) {
    return life.freed && !life.past_step ? MemoryCategory{}
                                         : inferred(Category::parameter, "made by torch.nn, alive after a step");
  }
  if (!call || !life.freed || life.past_step) return {};
  return life.past_backward ? inferred(Category::saved_activation, "made in a module's call, freed in a backward pass")
                            : inferred(Category::temporary, "made in a module's call, freed before a backward pass");
}

MemoryCategory MemoryCategories::of(uint64_t serial, uint32_t site, bool backward, AllocationLife life) const {
  if (names_) {
    const Category known = names_->memory(serial);
    if (known != Category::unknown) return {known, CategorySource::dump, ""};
  }
  const MemoryCategory inferred = inferred_category(site < sites_ ? facts_.parts(site) : uint8_t(0), backward, life);
  if (inferred.category != Category::unknown || !names_) return inferred;
  const Category others = names_->site(site);
  if (others == Category::unknown) return {};
  return {others, CategorySource::inferred, "as others in a dump that were made with this call stack"};
}

}  // namespace tensorscope::analyzer
