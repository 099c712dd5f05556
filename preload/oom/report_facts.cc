// SPDX-License-Identifier: Apache-2.0
#include "oom/report_facts.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "oom/holder_names.h"
#include "oom/unqualified.h"
#include "support/copy_text.h"
#include "support/enough_memory.h"
#include "support/process_info.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::oom {

namespace {

constexpr size_t kNamedPlaces = 24;     // candidates for the largest: native stacks differ only by name
constexpr size_t kNamesOfPlace = 4096;  // that are looked at

struct Group {
  uint64_t bytes = 0, items = 0;
  SiteId site = 0;  // the first
  std::vector<uint32_t> members;
};

live::SiteCounters site_of(const live::SnapshotView& view, SiteId site) {
  return site < view.sites.size ? view.sites[site] : live::SiteCounters{};
}

Device device_of(const dump::Failure& failure) {
  return failure.kind == dump::Kind::device ? failure.device : Device{kCpuType, -1};
}

// Needs no memory.
void fill_failure(const ReportSources& sources, ReportFacts& facts) {
  const dump::Failure& failure = sources.failure;
  const live::SnapshotView& view = sources.tables.view;
  facts.failure = failure;
  if (failure.limit == SystemLimit::shared_memory) facts.shared = &sources.shared;
  facts.path = sources.path;
  facts.earlier = sources.earlier;
  facts.earlier_age_ns = sources.earlier_age_ns;
  facts.summary = sources.summary;
  facts.device = device_of(failure);
  if (failure.site != 0) {
    dump::write_place(dump::headline(site_of(view, failure.site)), process_info().directory, facts.place);
  }
  if (failure.thread != 0 && failure.thread < view.threads.size) {
    const live::ThreadEntry& thread = view.threads[failure.thread];
    if (thread.tid != uint32_t(getpid()))
      copy_text({thread.name, strnlen(thread.name, sizeof(thread.name))}, facts.thread);
  }
  for (const live::DeviceTotals& totals : view.devices) {
    if (totals.device.type != facts.device.type || totals.device.index != facts.device.index) continue;
    facts.allocated = totals.allocator_allocated;
    facts.reserved = totals.allocator_reserved;
  }
  if (failure.allocator_reserved != 0) {
    facts.allocated = failure.allocator_allocated;
    facts.reserved = failure.allocator_reserved;
  }
}

void fill_driver(const ReportSources& sources, ReportFacts& facts) {
  if (facts.device.type != kCudaType) return;
  const devices::DriverFacts* driver = sources.driver.of(facts.device.index);
  if (driver == nullptr) return;
  facts.driver_total = driver->total;
  facts.driver_free = driver->free;
  for (size_t i = 0; i < driver->processes_count; ++i) {
    const uint64_t bytes = driver->processes[i].bytes;
    if (bytes != UINT64_MAX) {
      facts.others += bytes;
    } else {
      facts.others_unknown = true;
    }
  }
}

// Of the pool that every request may use: a private pool's pieces are of no use to others.
uint64_t largest_free(const devices::DeviceSegments& device) {
  uint64_t largest = 0;
  size_t block = 0;
  for (const format::Segment& segment : device.segments) {
    const size_t end = std::min(block + segment.blocks(), device.blocks.size());
    for (; block < end; ++block) {
      const bool common = segment.pool() == 0 && segment.pool_user() == 0;
      const format::SegmentBlock& row = device.blocks[block];
      if (common && row.state() == format::BlockState::free) largest = std::max(largest, row.size());
    }
  }
  return largest;
}

void fill_pieces(const ReportSources& sources, ReportFacts& facts) {
  if (facts.device.type != kCudaType || facts.reserved == 0) return;
  if (sources.allocator.complete) {
    for (const devices::DeviceSegments& device : sources.allocator.devices) {
      if (device.device == facts.device.index) facts.largest_free = largest_free(device);
    }
    return;
  }
  uint64_t outside = 0;
  facts.largest_free = largest_free(devices::derive_segments(sources.tables.view, facts.device, outside));
}

const live::NodeEntry* node_of(const live::SnapshotView& view, Serial serial) {
  const auto found = std::find_if(view.nodes.begin(), view.nodes.end(),
                                  [serial](const live::NodeEntry& node) { return node.serial == serial; });
  return serial == 0 || found == view.nodes.end() ? nullptr : found;
}

// Where the forward operation of a node stood, for what has no Python stack of its own: an autograd worker's doing.
bool write_forward_place(const live::SnapshotView& view, SiteId site, Serial node, char (&out)[dump::kPlaceBytes]) {
  if (site_of(view, site).python != 0) return false;
  const live::NodeEntry* entry = node_of(view, node);
  if (entry == nullptr || site_of(view, entry->site).python == 0) return false;
  dump::write_place(dump::headline(site_of(view, entry->site)), process_info().directory, out);
  return true;
}

void fill_node(const ReportSources& sources, ReportFacts& facts) {
  const live::SnapshotView& view = sources.tables.view;
  const live::NodeEntry* node = node_of(view, sources.failure.node);
  if (node == nullptr || sources.classes == nullptr) return;
  copy_text(unqualified(sources.classes->by_vtable(reinterpret_cast<uint64_t>(node->vtable))), facts.node);
  write_forward_place(view, sources.failure.site, node->serial, facts.forward);
}

std::vector<Group> largest_groups(const live::SnapshotView& view, const Holdings& holdings) {
  std::unordered_map<SiteId, uint64_t> keys;
  std::unordered_map<uint64_t, Group> by_key;
  for (uint32_t i = 0; i < holdings.items.size(); ++i) {
    const Item& item = holdings.items[i];
    const auto [key, fresh] = keys.try_emplace(item.site, 0);
    if (fresh) key->second = dump::place_key(site_of(view, item.site));
    Group& group = by_key[key->second];
    if (group.members.empty()) group.site = item.site;
    group.items += item.count;
    group.bytes += item.bytes;
    group.members.push_back(i);
  }
  std::vector<Group> groups;
  for (auto& [key, group] : by_key) groups.push_back(std::move(group));
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.site < b.site; });
  if (groups.size() > kNamedPlaces) groups.resize(kNamedPlaces);
  return groups;
}

// The largest are looked at; the others have no name here.
std::string names_of(const ReportSources& sources, const TensorLinks& links, const Holdings& holdings,
                     std::vector<uint32_t>& members) {
  const size_t looked_at = std::min(members.size(), kNamesOfPlace);
  if (looked_at < members.size()) {
    std::stable_sort(members.begin(), members.end(),
                     [&](uint32_t a, uint32_t b) { return holdings.items[a].bytes > holdings.items[b].bytes; });
  }
  std::vector<HeldBytes> names;
  for (size_t i = 0; i < looked_at; ++i) {
    const Item& item = holdings.items[members[i]];
    const bool in_tensor = item.tensor != kNone;
    names.push_back({in_tensor ? holder_name(sources.tables, links, item.tensor) : std::string(), item.bytes});
  }
  HeldBytes rest{"", 0, members.size() - looked_at};
  for (size_t i = looked_at; i < members.size(); ++i) rest.bytes += holdings.items[members[i]].bytes;
  if (rest.tensors > 0) names.push_back(rest);
  return merged_names(names);
}

void fill_sites(const ReportSources& sources, const TensorLinks& links, const Holdings& holdings, ReportFacts& facts) {
  const live::SnapshotView& view = sources.tables.view;
  std::vector<std::pair<std::string, Group>> places;
  for (Group& group : largest_groups(view, holdings)) {
    char place[dump::kPlaceBytes], forward[dump::kPlaceBytes];
    dump::write_place(dump::headline(site_of(view, group.site)), process_info().directory, place);
    if (write_forward_place(view, group.site, holdings.items[group.members.front()].node, forward)) {
      copy_text(std::string(place) + ", backward of " + forward, place);
    }
    const auto known =
        std::find_if(places.begin(), places.end(), [&](const auto& each) { return each.first == place; });
    if (known == places.end()) {
      places.emplace_back(place, std::move(group));
      continue;
    }
    known->second.bytes += group.bytes;
    known->second.items += group.items;
    known->second.members.insert(known->second.members.end(), group.members.begin(), group.members.end());
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  for (size_t i = 0; i < std::min(places.size(), kReportSites); ++i) {
    auto& [place, group] = places[i];
    ReportFacts::Site& out = facts.sites[i];
    out.bytes = group.bytes;
    out.items = group.items;
    copy_text(place, out.place);
    copy_text(names_of(sources, links, holdings, group.members), out.names);
  }
}

// Of a limit that this process shares. Memory that it has allocated and not touched counts as its own.
void fill_other_processes(ReportFacts& facts) {
  const dump::Failure& failure = facts.failure;
  if (failure.limit != SystemLimit::cgroup && failure.limit != SystemLimit::machine) return;
  LimitReader reader;
  const uint64_t used = failure.limit_bytes - std::min(failure.limit_bytes, failure.left_bytes);
  const uint64_t own = reader.read().touched + failure.requested;
  if (used > own && used - own > own) facts.other_processes = used - own;
}

void fill_names(const ReportSources& sources, ReportFacts& facts) {
  const python::References& references = sources.tables.references;
  if (!references.complete) facts.names_missing = references.detail;
  facts.tensors = sources.tables.view.tensors.size;
  facts.unnamed = facts.tensors - std::min<uint64_t>(facts.tensors, references.tensors.size());
}

void fill_holdings(const ReportSources& sources, ReportFacts& facts) {
  const FrameFacts frames(sources.tables.view);
  const TensorLinks links(sources.tables);
  const Holdings holdings = find_holdings(sources.tables, links, frames, facts.device);
  ReportFacts::Row rows[kCategories];
  for (size_t i = 0; i < kCategories; ++i) rows[i] = {Category(i), holdings.by_category[i], holdings.items_of[i]};
  std::stable_sort(rows, rows + kCategories,
                   [](const ReportFacts::Row& a, const ReportFacts::Row& b) { return a.bytes > b.bytes; });
  fill_sites(sources, links, holdings, facts);
  std::copy(rows, rows + kCategories, facts.categories);
  facts.bytes = holdings.bytes;
  facts.garbage = holdings.garbage;
  facts.looked_at = sources.tables.tensors.size();
  facts.holdings_known = true;
}

}  // namespace

void collect_facts(const ReportSources& sources, ReportFacts& facts) {
  fill_failure(sources, facts);
  fill_other_processes(facts);
  fill_names(sources, facts);
  fill_driver(sources, facts);
  if (sources.dump_failed[0] != 0) facts.holdings_missing = sources.dump_failed;
  run_or_abandon_on_oom([&] { fill_node(sources, facts); });
  run_or_abandon_on_oom([&] { fill_pieces(sources, facts); });
  if (sources.tensors_known) run_or_abandon_on_oom([&] { fill_holdings(sources, facts); });
}

}  // namespace tensorscope::oom
