#include "ranks/rank_dump.h"

#include <algorithm>

#include "dump_generated.h"
#include "memory/grouping.h"
#include "memory/opened_dump.h"

namespace tensorscope::analyzer {

namespace {

constexpr By kGroupedBy[kRankSubjects] = {By::category, By::module, By::line};

std::vector<RankPart> parts_by(const View& view, By by, NamePool& names) {
  std::vector<RankPart> parts;
  for (const Group& group : group(view, by)) parts.push_back({names.add(group.key), group.bytes, group.tensors});
  std::sort(parts.begin(), parts.end(), [](const RankPart& a, const RankPart& b) { return a.name < b.name; });
  return parts;
}

std::optional<RankFailure> failure_of(OpenedDump& opened) {
  const Dump& dump = opened.dump;
  if (!dump.failure || dump.process.trigger != int(format::Trigger::out_of_memory)) return std::nullopt;
  const Failure& failed = *dump.failure;
  RankFailure out;
  const uint64_t ago = dump.process.dump_ns - std::min(failed.failed_ns, dump.process.dump_ns);
  out.unix_ns = dump.process.dump_unix_ns - std::min(failed.failed_ns == 0 ? 0 : ago, dump.process.dump_unix_ns);
  out.requested = failed.requested;
  out.device = failed.device;
  out.error = failed.error;
  if (failed.site != 0) out.where = opened.places.at(failed.site).where;
  return out;
}

}  // namespace

bool RankDump::at_exit() const { return process.trigger == int(format::Trigger::exit); }

RankDump read_rank_dump(const std::string& path, const Filter& filter, const SymbolOptions& symbols, NamePool& names) {
  OpenedDump opened(path, symbols);
  const Selection selection = opened.choose(filter);
  const View view = opened.view(selection);
  RankDump out;
  out.path = path;
  out.problems = opened.dump.problems;
  out.process = opened.dump.process;
  out.process.command_line = {};
  out.process.options = {};
  out.groups = opened.dump.process_groups;
  out.live_bytes = selection.bytes();
  out.tensors = selection.tensor_count();
  for (const DeviceTotal& device : opened.dump.totals.devices) {
    out.peak_bytes += device.peak_bytes;
    out.reserved_bytes += device.allocator_reserved;
  }
  out.resident_bytes = opened.dump.totals.resident_bytes;
  for (size_t i = 0; i < kRankSubjects; ++i) out.parts[i] = parts_by(view, kGroupedBy[i], names);
  out.failure = failure_of(opened);
  return out;
}

}  // namespace tensorscope::analyzer
