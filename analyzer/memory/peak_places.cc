// SPDX-License-Identifier: Apache-2.0
#include "memory/peak_places.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tensorscope::analyzer {

namespace {

// Of sites where something is alive now; unknown if it is of several categories.
std::unordered_map<uint32_t, Category> categories_now(const OpenedDump& opened) {
  std::unordered_map<uint32_t, Category> found;
  for (const Item& item : opened.accounts.items()) {
    if (item.tensor == kNone || item.bytes == 0) continue;
    const Category category = opened.holders.category(item.tensor);
    const auto [known, is_new] = found.emplace(item.site, category);
    if (!is_new && known->second != category) known->second = Category::unknown;
  }
  return found;
}

}  // namespace

PeakPlaces peak_places(OpenedDump& opened) {
  const Peak& peak = opened.dump.peak;
  PeakPlaces places;
  places.other_sites = peak.other_sites;
  places.other_bytes = peak.other_bytes;
  places.other_allocations = peak.other_allocations;
  std::vector<uint32_t> sites;
  for (const PeakSite& row : peak.sites) sites.push_back(row.site);
  opened.places.prefetch(sites, false);
  const std::unordered_map<uint32_t, Category> categories = categories_now(opened);
  std::map<std::string, size_t> numbers;
  uint64_t sum = peak.other_bytes;
  for (const PeakSite& site : peak.sites) {
    const auto known = categories.find(site.site);
    const Category category = known == categories.end() ? Category::unknown : known->second;
    const std::string& where = opened.places.at(site.site).where;
    const auto [number, is_new] = numbers.emplace(where, places.rows.size());
    if (is_new) places.rows.push_back({.site = site.site, .where = where, .category = category});
    PeakPlace& row = places.rows[number->second];
    row.bytes += site.bytes;
    row.allocations += site.allocations;
    if (row.category != category) row.category = Category::unknown;
    sum += site.bytes;
  }
  std::stable_sort(places.rows.begin(), places.rows.end(),
                   [](const PeakPlace& a, const PeakPlace& b) { return a.bytes > b.bytes; });
  places.unattributed = int64_t(peak.bytes) - int64_t(sum);
  return places;
}

PeakGap peak_gap(const Dump& dump) {
  const Peak& peak = dump.peak;
  const DeviceTotal* only = nullptr;
  size_t used = 0;
  for (const DeviceTotal& total : dump.totals.devices) {
    if (total.peak_bytes == 0) continue;
    only = &total;
    used++;
  }
  if (used == 1) return {only->peak_bytes - std::min(only->peak_bytes, peak.bytes), true};
  return {std::max(peak.bytes / 200 * 3, uint64_t{96} << 10), false};
}

}  // namespace tensorscope::analyzer
