// SPDX-License-Identifier: Apache-2.0
#include "export/profiles/site_sums.h"

namespace tensorscope::exports {

std::map<uint32_t, SiteSum> live_by_site(const analyzer::Dump& dump) {
  std::map<uint32_t, SiteSum> sums;
  const auto add = [&](uint32_t site, uint64_t bytes) {
    if (bytes == 0) return;
    sums[site].bytes += bytes;
    sums[site].blocks += 1;
  };
  for (const analyzer::Allocation& allocation : dump.allocations) add(allocation.site, allocation.nbytes);
  for (const analyzer::Storage& storage : dump.storages) {
    if (storage.allocation == analyzer::kNone) add(dump.tensors[storage.tensors.front()].site, storage.own_nbytes);
  }
  return sums;
}

}  // namespace tensorscope::exports
