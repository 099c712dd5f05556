// SPDX-License-Identifier: Apache-2.0
#include "leaks/site_beginnings.h"

#include <algorithm>

namespace tensorscope::analyzer {

SiteBeginnings::SiteBeginnings(const Dump& dump) : not_before_(dump.sites.size()) {
  // What an attached profiler did not see may have been made at any site.
  if (dump.process.attached_ns != 0) return;
  std::vector<uint64_t> oldest(dump.sites.size());
  const auto seen = [&](uint32_t site, uint64_t serial) {
    if (site < oldest.size() && (oldest[site] == 0 || serial < oldest[site])) oldest[site] = serial;
  };
  for (const Tensor& tensor : dump.tensors) seen(tensor.site, tensor.serial);
  for (const Allocation& allocation : dump.allocations) seen(allocation.site, allocation.serial);
  uint64_t latest = 0;
  for (uint32_t i = 1; i < dump.sites.size(); ++i) {
    const Site& site = dump.sites[i];
    const bool all_alive = site.tensors_live == site.tensors_total && site.allocations_live == site.allocations_total;
    if (all_alive) latest = std::max(latest, oldest[i]);
    not_before_[i] = latest;
  }
}

}  // namespace tensorscope::analyzer
