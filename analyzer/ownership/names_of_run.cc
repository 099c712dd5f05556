// SPDX-License-Identifier: Apache-2.0
#include "ownership/names_of_run.h"

#include <algorithm>
#include <array>

namespace tensorscope::analyzer {

namespace {

// Others of the same call stack are most likely for the same. What is only passing says nothing about them.
bool lasts(Category category) {
  return category != Category::unknown && category != Category::temporary && category != Category::workspace;
}

}  // namespace

struct NamesOfRun::Votes {
  std::array<uint64_t, category::kCategories> bytes{};
  uint64_t all = 0;
};

NamesOfRun::NamesOfRun() = default;
NamesOfRun::~NamesOfRun() = default;

void NamesOfRun::add_tensor(uint64_t serial, KnownTensor known) {
  known.dump = sources_.size() - 1;
  for (Holder& holder : known.holders) holder.node = holder.tensor = kNone;
  tensors_.try_emplace(serial, std::move(known));
}

void NamesOfRun::add_memory(const Allocation& allocation, Category category) {
  memory_.try_emplace(allocation.serial, category);
  if (!lasts(category) || allocation.site == 0) return;
  Votes& votes = sites_[allocation.site];
  votes.bytes[size_t(category)] += allocation.nbytes;
  votes.all += allocation.nbytes;
}

const KnownTensor* NamesOfRun::tensor(uint64_t serial) const {
  const auto found = tensors_.find(serial);
  return found == tensors_.end() ? nullptr : &found->second;
}

Category NamesOfRun::memory(uint64_t serial) const {
  const auto found = memory_.find(serial);
  return found == memory_.end() ? Category::unknown : found->second;
}

Category NamesOfRun::site(uint32_t site) const {
  const auto found = sites_.find(site);
  if (found == sites_.end()) return Category::unknown;
  const Votes& votes = found->second;
  const auto most = std::max_element(votes.bytes.begin(), votes.bytes.end());
  return *most * 2 > votes.all ? Category(most - votes.bytes.begin()) : Category::unknown;
}

}  // namespace tensorscope::analyzer
