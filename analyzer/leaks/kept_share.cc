// SPDX-License-Identifier: Apache-2.0
#include "leaks/kept_share.h"

#include <algorithm>
#include <map>
#include <set>

namespace tensorscope::analyzer {

CreatedCount count_created(const LeakAnalysis& analysis, const std::vector<uint32_t>& tensors) {
  constexpr uint64_t kSmallPart = 20;
  const View& last = analysis.last();
  struct Share {
    uint64_t bytes = 0;
    bool allocated = false;
  };
  std::map<uint32_t, Share> sites;
  std::set<uint32_t> counted;
  uint64_t most = 0;
  for (uint32_t tensor : tensors) {
    const uint32_t number = last.accounts.item_of_tensor(tensor);
    if (!counted.insert(number).second) continue;
    const Item& item = last.accounts.items()[number];
    Share& share = sites[item.site];
    share.bytes += item.bytes;
    share.allocated = share.allocated || item.allocation != kNone;
    most = std::max(most, share.bytes);
  }
  CreatedCount made;
  for (const auto& [site, share] : sites) {
    if (share.bytes * kSmallPart < most) continue;
    const Site& row = last.dump.sites[site];
    made.all += share.allocated ? row.allocations_total : row.tensors_total;
    made.alive += share.allocated ? row.allocations_live : row.tensors_live;
  }
  return made;
}

bool mostly_kept(const CreatedCount& made) {
  constexpr uint64_t kPart = 2, kOf = 5;
  return made.alive * kOf >= made.all * kPart;
}

bool nearly_all_stay(const LeakAnalysis& analysis, size_t dump, const std::vector<uint32_t>& tensors,
                     const std::vector<uint32_t>& in_last) {
  constexpr size_t kOf = 8;
  const std::vector<uint64_t> serials = tensor_serials(analysis.view(dump).dump, tensors);
  const size_t gone = serials.size() - count_surviving(serials, tensor_serials(analysis.last().dump, in_last));
  return gone * kOf <= serials.size();
}

}  // namespace tensorscope::analyzer
