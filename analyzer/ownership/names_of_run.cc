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

void NamesOfRun::add(const Dump& dump, const Holders& holders) {
  const size_t number = sources_.size();
  sources_.push_back({dump.path.substr(dump.path.rfind('/') + 1), dump.process.dump_ns});
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) {
    const bool looked_at = dump.references.present && dump.references.tensors[i].known;
    if (!looked_at && holders.category(i) == Category::unknown) continue;
    KnownTensor known{holders.names(i),
                      holders.holders(i),
                      holders.holder_count(i),
                      holders.category(i),
                      holders.evidence(i),
                      holders.module(i),
                      number};
    for (Holder& holder : known.holders) holder.node = holder.tensor = kNone;
    tensors_.try_emplace(dump.tensors[i].serial, std::move(known));
  }
  for (const Allocation& allocation : dump.allocations) {
    Category strongest = allocation.storages.empty() ? Category::workspace : Category::unknown;
    for (uint32_t storage : allocation.storages) {
      const Category category = holders.category(holders.representative(storage));
      if (stronger(category, strongest)) strongest = category;
    }
    if (strongest == Category::unknown) continue;
    memory_.try_emplace(allocation.serial, strongest);
    if (!lasts(strongest) || allocation.site == 0) continue;
    Votes& votes = sites_[allocation.site];
    votes.bytes[size_t(strongest)] += allocation.nbytes;
    votes.all += allocation.nbytes;
  }
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
