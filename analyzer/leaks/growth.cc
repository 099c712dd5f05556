#include "leaks/growth.h"

#include <algorithm>
#include <unordered_map>

namespace tensorscope::analyzer {

bool grows(const std::vector<uint64_t>& values) {
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] <= values[i - 1]) return false;
  }
  return values.size() > 1;
}

bool grows_evenly(const std::vector<uint64_t>& values) {
  if (values.size() < 3 || !grows(values)) return false;
  uint64_t least = UINT64_MAX, most = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    least = std::min(least, values[i] - values[i - 1]);
    most = std::max(most, values[i] - values[i - 1]);
  }
  return least >= most / 2;
}

Timeline::Timeline(const std::vector<View>& views) {
  for (const View& view : views) taken_.push_back(view.dump.process.snapshot_serial);
}

bool Timeline::every_interval(const Growth& growth) const { return grows(growth.count) || grows(growth.bytes); }

bool Timeline::piles_up(const Growth& growth) const { return every_interval(growth) && spread(growth.kept); }

bool Timeline::spread(const std::vector<uint64_t>& serials) const {
  if (taken_.size() < 2) return false;
  std::vector<uint64_t> bounds = taken_;
  if (weak()) {
    constexpr uint64_t kFew = 8;
    const auto fresh = uint64_t(std::count_if(serials.begin(), serials.end(), [&](uint64_t serial) {
      return serial > taken_.front() && serial <= taken_.back();
    }));
    const uint64_t parts = fresh < kFew ? 3 : 4, span = taken_.back() - taken_.front();
    bounds = {taken_.front()};
    for (uint64_t part = 1; part <= parts; ++part) bounds.push_back(taken_.front() + span / parts * part);
    bounds.back() = taken_.back();
  }
  std::vector<bool> has(bounds.size() - 1);
  for (uint64_t serial : serials) {
    if (serial <= bounds.front() || serial > bounds.back()) continue;
    has[size_t(std::lower_bound(bounds.begin(), bounds.end(), serial) - bounds.begin()) - 1] = true;
  }
  return std::all_of(has.begin(), has.end(), [](bool any) { return any; });
}

uint64_t Timeline::last_part() const {
  if (taken_.size() < 2) return 0;
  if (!weak()) return taken_[taken_.size() - 2];
  return taken_.front() + (taken_.back() - taken_.front()) / 4 * 3;
}

std::vector<PlaceGrowth> growing_places(const std::vector<View>& views, const Timeline& timeline) {
  std::unordered_map<std::string, PlaceGrowth> places;
  for (size_t i = 0; i < views.size(); ++i) {
    const View& view = views[i];
    for (Group& group : group(view, By::line)) {
      PlaceGrowth& place = places[group.key];
      for (auto* numbers : {&place.growth.count, &place.growth.bytes, &place.storages, &place.peaks, &place.made, &place.made_bytes}) {
        numbers->resize(views.size());
      }
      place.label = group.label;
      place.site = group.site;
      place.growth.count[i] = group.tensors + group.blocks;
      place.growth.bytes[i] = group.bytes;
      place.storages[i] = group.storages + group.blocks;
      for (const auto& [site, bytes] : group.site_bytes) {
        const Site& row = view.dump.sites[site];
        place.peaks[i] += row.bytes_peak;
        place.made[i] += row.allocations_total;
        place.made_bytes[i] += row.bytes_total;
      }
      place.modules = std::move(group.modules);
      place.site_bytes = std::move(group.site_bytes);
    }
  }
  const View& last = views.back();
  auto place_at = [&](uint32_t site) -> PlaceGrowth& { return places[last.places.at(site).where]; };
  for (uint32_t i = 0; i < last.dump.tensors.size(); ++i) {
    if (!last.selection.tensor(i)) continue;
    PlaceGrowth& place = place_at(effective_site(last.dump, last.accounts, last.places, i));
    place.tensors.push_back(i);
    place.growth.kept.push_back(last.dump.tensors[i].serial);
    const uint32_t item = last.accounts.item_of_tensor(i);
    PlaceGrowth& memory = place_at(last.accounts.items()[item].site);
    if (last.selection.item(item) && &memory != &place) memory.tensors.push_back(i);
  }
  // The memory may be kept by an alias that was made at another line.
  for (uint32_t i = 0; i < last.accounts.items().size(); ++i) {
    const Item& item = last.accounts.items()[i];
    if (item.allocation == kNone || !last.selection.item(i)) continue;
    place_at(item.site).growth.kept.push_back(last.dump.allocations[item.allocation].serial);
  }
  std::vector<PlaceGrowth> result;
  for (auto& [key, place] : places) {
    if (timeline.every_interval(place.growth)) result.push_back(std::move(place));
  }
  std::sort(result.begin(), result.end(), [](const PlaceGrowth& a, const PlaceGrowth& b) {
    if (a.growth.added_bytes() != b.growth.added_bytes()) return a.growth.added_bytes() > b.growth.added_bytes();
    if (a.growth.added() != b.growth.added()) return a.growth.added() > b.growth.added();
    return a.label < b.label;
  });
  return result;
}

namespace {

bool sizes_lie_between(const PlaceGrowth& place) {
  constexpr uint64_t kLeastMade = 8, kOff = 6;
  const uint64_t before = place.growth.bytes[0] / place.storages[0], now = place.growth.bytes[1] / place.storages[1];
  const uint64_t made = place.made[1] - std::min(place.made[0], place.made[1]);
  if (place.made[0] == 0 || made < kLeastMade || now <= before) return false;
  const uint64_t mean = (place.made_bytes[1] - place.made_bytes[0]) / made, middle = before + (now - before) / 2;
  const uint64_t off = mean > middle ? mean - middle : middle - mean;
  return off <= (now - before) / kOff && place.made_bytes[0] / place.made[0] <= before / 4 * 3;
}

}  // namespace

bool grows_in_place(const PlaceGrowth& place, const Timeline& timeline) {
  if (place.storages.front() == 0 || place.storages.front() != place.storages.back()) return false;
  if (timeline.weak()) return sizes_lie_between(place);
  return grows_evenly(place.growth.bytes) && grows_evenly(place.peaks);
}

}  // namespace tensorscope::analyzer
