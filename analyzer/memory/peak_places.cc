// SPDX-License-Identifier: Apache-2.0
#include "memory/peak_places.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "symbols/frame_facts.h"
#include "symbols/native_facts.h"
#include "tensorscope/rules/user_code.h"

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

// What is left of a site's bytes, of which a row of a file may name more than there are.
class Left {
 public:
  explicit Left(uint64_t bytes) : bytes_(bytes) {}
  uint64_t take(uint64_t bytes) {
    const uint64_t taken = std::min(bytes, bytes_);
    bytes_ -= taken;
    return taken;
  }
  uint64_t all() { return take(bytes_); }

 private:
  uint64_t bytes_;
};

struct SiteFacts {
  uint8_t parts = 0;         // code::TorchPart
  bool for_module = false;   // a module of torch.nn made it for itself
  bool recorded = false;     // gradients were recorded there
  bool told = false;         // by the Python code of threads whether they were in a backward pass
  bool in_backward = false;  // it was made below a call of autograd's engine, or on a thread of the engine's
};

// The rules of inferred_category() (ownership/memory_category.h), of what was alive at one moment.
PeakCategories inferred_categories(const PeakSite& site, const SiteFacts& facts) {
  PeakCategories found;
  Left left(site.bytes);
  const auto inferred = [&found](Category category, uint64_t bytes) {
    found.add(category, category == Category::unknown ? CategorySource::unknown : CategorySource::inferred, bytes);
  };
  if ((facts.parts & (code::kDataLoading | code::kOtherProcess)) != 0) {
    inferred(Category::input_batch, left.all());
  } else if ((facts.parts & code::kCommunication) != 0) {
    inferred(Category::communication_bucket, left.all());
  } else if (facts.for_module) {
    inferred(Category::parameter, left.all());
  } else if ((facts.parts & code::kOptimizer) != 0) {
    inferred(Category::optimizer_state, left.take(site.gone.later_step));
    inferred(Category::temporary, left.take(site.gone.before_backward));
  } else {
    const bool computed = (facts.parts & code::kComputed) != 0 || site.has_nodes;
    const bool call = (facts.parts & (code::kModuleCall | code::kFunction)) != 0;
    if (facts.told && facts.in_backward) {
      inferred(Category::backward_temporary, left.take(site.gone.of_backward));
      inferred(Category::gradient, left.take(site.gone.after_backward));
    }
    if (facts.told && computed) inferred(Category::saved_activation, left.take(site.gone.in_backward));
    if (call && facts.recorded) inferred(Category::temporary, left.take(site.gone.before_backward));
  }
  inferred(Category::unknown, left.all());
  return found;
}

}  // namespace

void PeakCategories::add(Category category, CategorySource source, uint64_t bytes) {
  bytes_[size_t(category)] += bytes;
  if (source == CategorySource::inferred) inferred_[size_t(category)] += bytes;
}

void PeakCategories::add(const PeakCategories& other) {
  for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] += other.bytes_[i], inferred_[i] += other.inferred_[i];
}

Category PeakCategories::most() const {
  const auto most = size_t(std::max_element(bytes_.begin(), bytes_.end()) - bytes_.begin());
  return bytes_[most] > sum() / 2 ? Category(most) : Category::unknown;
}

CategorySource PeakCategories::source(Category category) const {
  if (category == Category::unknown) return CategorySource::unknown;
  return inferred_[size_t(category)] == 0 ? CategorySource::dump : CategorySource::inferred;
}

uint64_t PeakCategories::sum() const { return std::accumulate(bytes_.begin(), bytes_.end(), uint64_t{0}); }

std::vector<PeakCategories> peak_categories(OpenedDump& opened) {
  const Dump& dump = opened.dump;
  const FrameFacts frames(dump);
  const NativeFacts natives(dump, &opened.symbols);
  const std::unordered_map<uint32_t, Category> now = categories_now(opened);
  std::unordered_set<uint32_t> recorded;  // Python stacks
  for (const PeakSite& site : dump.peak.sites) {
    if (site.has_nodes) recorded.insert(dump.sites[site.site].python);
  }
  std::vector<PeakCategories> found;
  for (const PeakSite& site : dump.peak.sites) {
    if (const auto known = now.find(site.site); known != now.end() && known->second != Category::unknown) {
      found.emplace_back().add(known->second, CategorySource::dump, site.bytes);
      continue;
    }
    const uint32_t python = dump.sites[site.site].python;
    const uint8_t native = natives.parts(site.site);
    const bool for_module = frames.made_for_module(site.site) || (native & code::kModuleCode) != 0;
    found.push_back(inferred_categories(site, {.parts = uint8_t(frames.parts(site.site) | native),
                                               .for_module = for_module,
                                               .recorded = python != 0 && recorded.contains(python),
                                               .told = dump.python_frames.size() > 1,
                                               .in_backward = python == 0 || frames.in_backward(site.site)}));
  }
  return found;
}

PeakPlaces peak_places(OpenedDump& opened) {
  const Peak& peak = opened.dump.peak;
  PeakPlaces places;
  places.other_sites = peak.other_sites;
  places.other_bytes = peak.other_bytes;
  places.other_allocations = peak.other_allocations;
  std::vector<uint32_t> sites;
  for (const PeakSite& row : peak.sites) sites.push_back(row.site);
  opened.places.prefetch(sites, false);
  const std::vector<PeakCategories> categories = peak_categories(opened);
  std::map<std::string, size_t> numbers;
  uint64_t sum = peak.other_bytes;
  for (size_t i = 0; i < peak.sites.size(); ++i) {
    const PeakSite& site = peak.sites[i];
    const std::string& where = opened.places.at(site.site).where;
    const auto [number, is_new] = numbers.emplace(where, places.rows.size());
    if (is_new) places.rows.push_back({.site = site.site, .where = where, .categories = {}});
    PeakPlace& row = places.rows[number->second];
    row.bytes += site.bytes;
    row.allocations += site.allocations;
    row.categories.add(categories[i]);
    places.categories.add(categories[i]);
    sum += site.bytes;
  }
  places.categories.add(Category::unknown, CategorySource::unknown, peak.other_bytes);
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
