// SPDX-License-Identifier: Apache-2.0
#include "leaks/growth.h"

#include <algorithm>
#include <unordered_map>

#include "leaks/run_history.h"
#include "leaks/step_ends.h"

namespace tensorscope::analyzer {

namespace {

int64_t run_grew_by(const std::vector<View>& views) {
  if (!run_trend(views.back().dump).grew()) return 0;
  return std::max<int64_t>(0, int64_t(views.back().selection.bytes() - views.front().selection.bytes()));
}

}  // namespace

Timeline::Timeline(const std::vector<View>& views)
    : running_since_(running_since(views.back().dump)), run_grew_by_(run_grew_by(views)) {
  for (const View& view : views) taken_.push_back(view.dump.process.snapshot_serial);
}

bool Timeline::every_interval(const Growth& growth) const { return grows(growth.count) || grows(growth.bytes); }

bool take_ended_steps(Growth& growth, const Growth& ended) {
  const bool hidden = !grows(growth.count) && !grows(growth.bytes) && (grows(ended.count) || grows(ended.bytes));
  if (!hidden) return false;
  growth.count = ended.count;
  growth.bytes = ended.bytes;
  return true;
}

size_t count_surviving(const std::vector<uint64_t>& serials, std::vector<uint64_t> later) {
  std::sort(later.begin(), later.end());
  return size_t(std::count_if(serials.begin(), serials.end(),
                              [&](uint64_t serial) { return std::binary_search(later.begin(), later.end(), serial); }));
}

namespace {

bool comes_and_goes(const Growth& growth) {
  constexpr int64_t kThird = 3;
  constexpr size_t kQuarter = 4;
  if (growth.added() * kThird >= int64_t(growth.count.front())) return false;
  if (growth.added_bytes() * kThird >= int64_t(growth.bytes.front())) return false;
  return count_surviving(growth.first, growth.kept) * kQuarter < growth.first.size();
}

}  // namespace

bool Timeline::is_accumulating(const Growth& growth) const {
  return every_interval(growth) && spread(growth.kept) && !comes_and_goes(growth) && !may_be_a_window(growth);
}

// What two dumps cannot tell, a history can: memory that grew at every part of the run, by no more than twice of this.
bool Timeline::the_run_grew_by(const Growth& growth) const {
  return run_grew_by_ > 0 && growth.added_bytes() * 2 > run_grew_by_;
}

// Two dumps cannot tell a window of the last entries that was not full yet from a queue that becomes longer; nor what
// is exchanged in a full container, where more left than it grew by.
bool Timeline::may_be_a_window(const Growth& growth) const {
  if (!weak() || the_run_grew_by(growth)) return false;
  const size_t stayed = count_surviving(growth.first, growth.kept), left = growth.first.size() - stayed;
  return stayed * 2 < growth.first.size() || int64_t(left) > growth.added();
}

bool Timeline::slows_down(const std::vector<uint64_t>& values) const {
  if (values.size() < 3 || !grows(values)) return false;
  double first = 0, last = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    const double rate = double(values[i] - values[i - 1]) / double(std::max<uint64_t>(1, taken_[i] - taken_[i - 1]));
    if (i > 1 && rate > last) return false;
    if (i == 1) first = rate;
    last = rate;
  }
  return last * 2 < first;
}

bool Timeline::slows_down(const Growth& growth) const {
  if (grows_evenly(growth.count)) return false;  // bytes of a table that doubles say less
  return slows_down(grows(growth.bytes) ? growth.bytes : growth.count);
}

// What came since the first dump and was all made in the step that runs, is of that step: a forward pass fills as long
// as it runs.
bool Timeline::any_of_an_ended_step(const std::vector<uint64_t>& serials) const {
  return running_since_ == 0 || std::ranges::any_of(serials, [&](uint64_t serial) {
           return serial > taken_.front() && serial <= running_since_;
         });
}

bool Timeline::spread(const std::vector<uint64_t>& serials) const {
  if (taken_.size() < 2 || !any_of_an_ended_step(serials)) return false;
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

namespace {

using GrownPlaces = std::unordered_map<std::string, PlaceGrowth>;

void add_serials(const View& view, GrownPlaces& places, std::vector<uint64_t> Growth::*serials) {
  const auto add = [&](uint32_t site, uint64_t serial) {
    (places[view.places.at(site).where].growth.*serials).push_back(serial);
  };
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    if (!view.selection.tensor(i)) continue;
    add(effective_site(view.dump, view.accounts, view.places, i), view.dump.tensors[i].serial);
  }
  // The memory may be kept by an alias that was made at another line.
  for (uint32_t i = 0; i < view.accounts.items().size(); ++i) {
    const Item& item = view.accounts.items()[i];
    if (item.allocation == kNone || !view.selection.item(i)) continue;
    add(item.site, view.dump.allocations[item.allocation].serial);
  }
}

void add_tensors(const View& last, GrownPlaces& places) {
  auto place_at = [&](uint32_t site) -> PlaceGrowth& { return places[last.places.at(site).where]; };
  for (uint32_t i = 0; i < last.dump.tensors.size(); ++i) {
    if (!last.selection.tensor(i)) continue;
    PlaceGrowth& place = place_at(effective_site(last.dump, last.accounts, last.places, i));
    place.tensors.push_back(i);
    const uint32_t item = last.accounts.item_of_tensor(i);
    PlaceGrowth& memory = place_at(last.accounts.items()[item].site);
    if (last.selection.item(item) && &memory != &place) memory.tensors.push_back(i);
  }
}

}  // namespace

namespace {

// The numbers of each place without what the step that runs has made; not where a dump does not show which step does.
std::unordered_map<std::string, Growth> of_ended_steps(const std::vector<View>& views, const GrownPlaces& places) {
  std::unordered_map<std::string, Growth> ended;
  if (std::ranges::any_of(views, [](const View& view) { return running_since(view.dump) == 0; })) return ended;
  for (const auto& [key, place] : places) ended[key] = {place.growth.count, place.growth.bytes, {}, {}};
  for (size_t i = 0; i < views.size(); ++i) {
    const View& view = views[i];
    const uint64_t since = running_since(view.dump);
    const auto take_away = [&](uint32_t site, uint64_t count, uint64_t bytes) {
      const auto place = ended.find(view.places.at(site).where);
      if (place == ended.end()) return;
      place->second.count[i] -= std::min(count, place->second.count[i]);
      place->second.bytes[i] -= std::min(bytes, place->second.bytes[i]);
    };
    for (uint32_t tensor = 0; tensor < view.dump.tensors.size(); ++tensor) {
      if (!view.selection.tensor(tensor) || view.dump.tensors[tensor].serial <= since) continue;
      take_away(effective_site(view.dump, view.accounts, view.places, tensor), 1, 0);
    }
    for (uint32_t k = 0; k < view.accounts.items().size(); ++k) {
      const Item& item = view.accounts.items()[k];
      if (item.allocation == kNone || !view.selection.item(k)) continue;
      if (view.dump.allocations[item.allocation].serial <= since) continue;
      take_away(item.site, item.storage == kNone ? 1 : 0, item.bytes);
    }
  }
  return ended;
}

}  // namespace

std::vector<PlaceGrowth> growing_places(const std::vector<View>& views, const Timeline& timeline) {
  GrownPlaces places;
  for (size_t i = 0; i < views.size(); ++i) {
    const View& view = views[i];
    for (Group& group : group(view, GroupBy::line)) {
      PlaceGrowth& place = places[group.key];
      for (auto* numbers :
           {&place.growth.count, &place.growth.bytes, &place.storages, &place.peaks, &place.made, &place.made_bytes}) {
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
  add_serials(views.front(), places, &Growth::first);
  for (const auto& [key, ended] : of_ended_steps(views, places)) {
    Growth& growth = places[key].growth;
    if (!take_ended_steps(growth, ended)) continue;
    std::erase_if(growth.first,
                  [since = running_since(views.front().dump)](uint64_t serial) { return serial > since; });
  }
  add_serials(views.back(), places, &Growth::kept);
  add_tensors(views.back(), places);
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

constexpr uint64_t kMinMade = 8;

uint64_t made_in(const PlaceGrowth& place, size_t interval) {
  return place.made[interval + 1] - std::min(place.made[interval], place.made[interval + 1]);
}

// Whether what was made in an interval became larger each time: half-way between the two sizes on average. Of sequences
// that become longer every tenth step most have the length of the end.
bool sizes_lie_between(const PlaceGrowth& place, size_t interval) {
  constexpr uint64_t kOff = 10;
  const size_t next = interval + 1;
  const uint64_t before = place.growth.bytes[interval] / place.storages[interval];
  const uint64_t now = place.growth.bytes[next] / place.storages[next], made = made_in(place, interval);
  if (made < kMinMade || now <= before) return false;
  const uint64_t mean = (place.made_bytes[next] - place.made_bytes[interval]) / made;
  const uint64_t middle = before + (now - before) / 2;
  return (mean > middle ? mean - middle : middle - mean) <= (now - before) / kOff;
}

// Two dumps have no trend of sizes: what came before the first one has to have been smaller.
bool began_smaller(const PlaceGrowth& place) {
  const uint64_t before = place.growth.bytes[0] / place.storages[0];
  return place.made[0] > 0 && place.made_bytes[0] / place.made[0] <= before / 4 * 3;
}

bool grows_in_stairs(const PlaceGrowth& place) {
  for (size_t interval = 0; interval + 1 < place.made.size(); ++interval) {
    if (made_in(place, interval) >= kMinMade && !sizes_lie_between(place, interval)) return true;
  }
  return false;
}

}  // namespace

bool grows_in_place(const PlaceGrowth& place, const Timeline& timeline) {
  if (place.storages.front() == 0 || place.storages.front() != place.storages.back()) return false;
  if (timeline.weak()) return sizes_lie_between(place, 0) && began_smaller(place);
  return grows_evenly(place.growth.bytes) && grows_evenly(place.peaks) && !grows_in_stairs(place);
}

}  // namespace tensorscope::analyzer
