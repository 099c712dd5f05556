#include "oom/short_report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "oom/holder_names.h"
#include "support/copy_text.h"
#include "support/enough_memory.h"
#include "support/message.h"
#include "support/process_info.h"
#include "tensorscope/rules/number_text.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::oom {

namespace {

constexpr int8_t kCpu = 0;
constexpr int8_t kCuda = 1;

struct DeviceText {
  char text[24];
  explicit DeviceText(Device device) {
    const char* kind = device.type == kCpu ? "cpu" : device.type == kCuda ? "cuda" : "device";
    if (device.type == kCpu || device.index < 0) {
      snprintf(text, sizeof(text), "%s", kind);
    } else {
      snprintf(text, sizeof(text), "%s:%d", kind, device.index);
    }
  }
};

const char* limit_text(SystemLimit limit) {
  if (limit == SystemLimit::device) return "memory of the device";
  const WatchedLimit* const watched = find_watched(limit);
  return watched != nullptr ? watched->amount : "memory";
}

void write_headline(const dump::Failure& failure, ReportText& text) {
  const ByteText wanted(failure.requested);
  const bool known = failure.requested != 0;
  const char* asking = known ? " while asking for " : "";
  const char* bytes = known ? wanted.c_str() : "";
  switch (failure.kind) {
    case dump::Kind::device:
      return text.line("tensorscope: %sout of memory on %s%s%s", failure.device.type == kCuda ? "CUDA " : "",
                       DeviceText(failure.device).text, asking, bytes);
    case dump::Kind::host:
      return text.line("tensorscope: out of memory on the CPU%s%s", asking, bytes);
    case dump::Kind::pinned:
      return text.line("tensorscope: out of page-locked host memory%s%s", asking, bytes);
    case dump::Kind::low_memory:
      return text.line("tensorscope: %smemory is nearly used up: %s left%s%s%s",
                       failure.limit == SystemLimit::shared_memory ? "shared " : "",
                       ByteText(failure.left_bytes).c_str(), known ? " with the " : "", bytes,
                       known ? " that are asked for now" : "");
    case dump::Kind::unknown:
      break;
  }
  const bool why = failure.error[0] != 0;
  text.line("tensorscope: out of memory%s%s%s%s%s", asking, bytes, why ? " (" : "", failure.error, why ? ")" : "");
}

void write_failure_place(const ReportFacts& facts, ReportText& text) {
  text.line("  at %s%s%s%s%s%s%s", facts.place[0] != 0 ? facts.place : "(no stack)",
            facts.node[0] != 0 ? ", in the backward of " : "", facts.node, facts.forward[0] != 0 ? " from " : "",
            facts.forward, facts.thread[0] != 0 ? ", thread " : "", facts.thread);
}

// "this process 800.0 KiB in 3 files, python 4242 100.0 KiB in 1 file"
void write_shared_files(const dump::SharedFiles& shared, ReportText& text) {
  if (!shared.looked) return text.line("  who holds it is unknown: %s", shared.detail);
  constexpr size_t kNamed = 4;
  for (size_t i = 0; i < std::min(shared.count, kNamed); ++i) {
    const dump::SharedHolder& holder = shared.holders[i];
    char who[80] = "this process";
    if (holder.pid == 0) {
      snprintf(who, sizeof(who), "no process: %s%s", holder.name, holder.files > 1 ? " and others" : "");
    } else if (holder.pid != process_info().pid) {
      snprintf(who, sizeof(who), "process %u (%s)", holder.pid, holder.name);
    }
    text.line("    %10s %s, %s", ByteText(holder.bytes).c_str(), CountText(holder.files, "file").c_str(), who);
  }
  if (shared.count > kNamed) text.line("    and %zu more", shared.count - kNamed);
  if (*shared.detail != 0) text.line("    %s", shared.detail);
}

void write_limits(const ReportFacts& facts, ReportText& text) {
  const dump::Failure& failure = facts.failure;
  if (failure.limit_bytes != 0) {
    text.line("  %s: %s, of which %s was left", limit_text(failure.limit), ByteText(failure.limit_bytes).c_str(),
              ByteText(failure.left_bytes).c_str());
  }
  if (facts.shared != nullptr) write_shared_files(*facts.shared, text);
  if (facts.other_processes != 0) {
    text.line("  other processes have %s of it, more than this one", ByteText(facts.other_processes).c_str());
  }
  char driver[224] = "";
  if (facts.driver_total != 0) {
    char others[72] = "";
    if (facts.others != 0) {
      snprintf(others, sizeof(others), ", others hold %s%s", facts.others_unknown ? "at least " : "",
               ByteText(facts.others).c_str());
    } else if (facts.others_unknown) {
      snprintf(others, sizeof(others), ", what others hold is not known");
    }
    snprintf(driver, sizeof(driver), "; the driver has %s free of %s%s", ByteText(facts.driver_free).c_str(),
             ByteText(facts.driver_total).c_str(), others);
  }
  if (facts.reserved != 0) {
    text.line("  torch's allocator on %s: %s in use, %s cached%s", DeviceText(facts.device).text,
              ByteText(facts.allocated).c_str(),
              ByteText(facts.reserved - std::min(facts.allocated, facts.reserved)).c_str(), driver);
  } else if (driver[0] != 0) {
    text.line("  %s: %s", DeviceText(facts.device).text, driver + 2);
  }
}

void write_categories(const ReportFacts& facts, ReportText& text) {
  if (facts.bytes == 0) return text.line("  no live memory on %s was recorded", DeviceText(facts.device).text);
  char largest[128] = "";
  if (facts.looked_at < facts.tensors) {
    snprintf(largest, sizeof(largest), " (the largest %s of %s)", CountText(facts.looked_at).c_str(),
             CountText(facts.tensors, "tensor").c_str());
  }
  text.line("  who has the %s on %s%s:", ByteText(facts.bytes).c_str(), DeviceText(facts.device).text, largest);
  uint64_t told = 0;
  for (const ReportFacts::Row& row : std::span(facts.categories).first(kReportCategories)) {
    if (row.bytes == 0) break;
    told += row.bytes;
    const bool in_tensors = row.category < Category::workspace;
    text.line("    %-20s %10s %6s  %s", row_text(row.category), ByteText(row.bytes).c_str(),
              PercentText(row.bytes, facts.bytes).c_str(),
              CountText(row.items, in_tensors ? "storage" : "block").c_str());
  }
  if (told < facts.bytes) {
    text.line("    %-20s %10s %6s", "the rest", ByteText(facts.bytes - told).c_str(),
              PercentText(facts.bytes - told, facts.bytes).c_str());
  }
}

void write_sites(const ReportFacts& facts, ReportText& text) {
  if (facts.sites[0].bytes == 0) return;
  text.line("  largest allocation sites:");
  for (const ReportFacts::Site& site : facts.sites) {
    if (site.bytes == 0) break;
    text.line("    %10s %6s x  %s%s%s", ByteText(site.bytes).c_str(), CountText(site.items).c_str(), site.place,
              site.names[0] != 0 ? "   " : "", site.names);
  }
}

void write_what_could_go(const ReportFacts& facts, ReportText& text) {
  const char* heading = "could be freed:";
  if (const uint64_t cached = facts.reserved > facts.allocated ? facts.reserved - facts.allocated : 0; cached != 0) {
    char largest[80] = "";
    if (facts.largest_free != 0) {
      snprintf(largest, sizeof(largest), ", largest block %s", ByteText(facts.largest_free).c_str());
    }
    // What is cached would do, but no piece of it does.
    const bool in_pieces =
        facts.largest_free != 0 && facts.largest_free < facts.failure.requested && facts.failure.requested <= cached;
    text.line("  %-15s %s cached by torch%s%s", heading, ByteText(cached).c_str(), largest,
              in_pieces ? " (fragmented: expandable segments would make it usable)" : "");
    heading = "";
  }
  if (facts.garbage != 0) {
    text.line("  %-15s %s in unreachable cycles (gc.collect())", heading, ByteText(facts.garbage).c_str());
  }
}

// As a shell takes it: as it is, or between single quotes. A path that does not fit is cut.
constexpr size_t kQuotedBytes = PATH_MAX + 64;
void quote(const char* path, char (&out)[kQuotedBytes]) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+=:,@%";
  const std::string_view text = path;
  if (text.find_first_not_of(kPlain) == text.npos) return copy_text(text, out);
  size_t size = 0;
  out[size++] = '\'';
  for (const char c : text) {
    const std::string_view piece = c == '\'' ? std::string_view("'\\''") : std::string_view(&c, 1);
    if (size + piece.size() + 2 > sizeof(out)) break;
    memcpy(out + size, piece.data(), piece.size());
    size += piece.size();
  }
  out[size++] = '\'';
  out[size] = 0;
}

}  // namespace

void ReportText::line(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(kColumns, format, arguments);
  va_end(arguments);
}

void ReportText::whole_line(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(sizeof(text_), format, arguments);
  va_end(arguments);
}

void ReportText::add(size_t columns, const char* format, va_list arguments) {
  const size_t room = std::min(columns, sizeof(text_) - size_);  // the terminating zero becomes the newline
  if (lines_ == kReportLines || room < 2) return;
  char* const begin = text_ + size_;
  const int wanted = vsnprintf(begin, room, format, arguments);
  if (wanted < 0) return;
  size_t length = std::min(size_t(wanted), room - 1);
  constexpr std::string_view kCut = "...";
  if (size_t(wanted) > length && length > kCut.size()) {
    length = text_beginning({begin, length}, length - kCut.size()).size();
    memcpy(begin + length, kCut.data(), kCut.size());
    length += kCut.size();
  }
  silence_text(begin, length);
  begin[length] = '\n';
  size_ += length + 1;
  ++lines_;
}

namespace {

void write_what_has_no_name(const ReportFacts& facts, ReportText& text) {
  if (facts.names_missing[0] == 0) return;
  if (facts.unnamed == 0 || facts.unnamed == facts.tensors) {
    return text.line("  names and unreachable cycles are unknown: %s", facts.names_missing);
  }
  text.line("  names of up to %s of %s and unreachable cycles are unknown: %s", CountText(facts.unnamed).c_str(),
            CountText(facts.tensors, "tensor").c_str(), facts.names_missing);
}

}  // namespace

void write_report(const ReportFacts& facts, ReportText& text) {
  write_headline(facts.failure, text);
  write_failure_place(facts, text);
  write_limits(facts, text);
  // The allocator knows nothing of shared memory.
  if (facts.shared == nullptr && facts.holdings_known) {
    write_categories(facts, text);
    write_sites(facts, text);
  } else if (facts.shared == nullptr) {
    text.line("  the holders of the memory are unknown: %s", facts.holdings_missing);
  }
  write_what_could_go(facts, text);
  write_what_has_no_name(facts, text);
  const bool unnamed = facts.names_missing[0] != 0 || !facts.holdings_known;
  if (unnamed && facts.earlier[0] != 0) {
    char earlier[kQuotedBytes];
    quote(facts.earlier, earlier);
    text.whole_line("  names: see %s, written %s earlier", earlier, DurationText(facts.earlier_age_ns).c_str());
  }
  if (facts.path[0] == 0) return;
  const char* slash = strrchr(facts.path, '/');
  text.line("  wrote %s %s", slash != nullptr ? slash + 1 : facts.path, facts.summary);
  char path[kQuotedBytes];
  quote(facts.path, path);
  text.whole_line("  read more: tensorscope oom %s", path);
}

namespace {

constexpr size_t kNamedPlaces = 24;     // candidates for the largest: native stacks are told apart only by name
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
  return failure.kind == dump::Kind::device ? failure.device : Device{kCpu, -1};
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
  if (facts.device.type != kCuda) return;
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
  if (facts.device.type != kCuda || facts.reserved == 0) return;
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

// Of a limit that this process shares. Memory that it has asked for and not touched counts as its own.
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

void print_report(const ReportSources& sources) {
  ReportFacts facts;
  fill_failure(sources, facts);
  fill_other_processes(facts);
  fill_names(sources, facts);
  fill_driver(sources, facts);
  if (sources.dump_failed[0] != 0) facts.holdings_missing = sources.dump_failed;
  run_or_abandon_on_oom([&] { fill_node(sources, facts); });
  run_or_abandon_on_oom([&] { fill_pieces(sources, facts); });
  if (sources.tensors_known) run_or_abandon_on_oom([&] { fill_holdings(sources, facts); });
  ReportText text;
  write_report(facts, text);
  write_standard_error(text.text(), text.size());
}

}  // namespace tensorscope::oom
