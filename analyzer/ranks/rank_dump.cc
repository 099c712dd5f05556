#include "ranks/rank_dump.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "dump_generated.h"
#include "memory/grouping.h"
#include "memory/opened_dump.h"

namespace tensorscope::analyzer {

namespace {

// What report --by category, module and line say, in one pass and without what only a report shows.
class PartSums {
 public:
  PartSums(OpenedDump& opened, const View& view, NamePool& names)
      : places_(opened.places), view_(view), names_(names), sites_(opened.dump.sites.size(), kNone) {
    categories_.fill(kNone);
    prefetch();
    add_items();
    for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
      if (!view.selection.tensor(i)) continue;
      of(RankSubject::category, category_name(i)).tensors += 1;
      of(RankSubject::module, module_name(view.holders.module(i))).tensors += 1;
      of(RankSubject::site, site_name(effective_site(view.dump, view.accounts, places_, i))).tensors += 1;
    }
  }

  std::vector<RankPart> parts(RankSubject subject) const {
    std::vector<RankPart> out;
    for (const auto& [name, part] : sums_[size_t(subject)]) out.push_back(part);
    std::sort(out.begin(), out.end(), [](const RankPart& a, const RankPart& b) { return a.name < b.name; });
    return out;
  }

 private:
  void prefetch() {
    std::vector<uint32_t> sites;
    for (const Item& item : view_.accounts.items()) sites.push_back(item.site);
    for (const Tensor& tensor : view_.dump.tensors) sites.push_back(tensor.site);
    std::sort(sites.begin(), sites.end());
    sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
    places_.prefetch(sites, false);
  }

  void add_items() {
    const std::vector<Item>& items = view_.accounts.items();
    for (uint32_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      if (!view_.selection.item(i) || (item.storage == kNone && item.allocation == kNone)) continue;
      const uint32_t speaker = view_.selection.speaker(i);
      const uint64_t bytes = view_.selection.item_bytes(i);
      const std::string& module = speaker == kNone ? places_.module_path(item.site) : view_.holders.module(speaker);
      of(RankSubject::category, category_name(speaker)).bytes += bytes;
      of(RankSubject::module, module_name(module)).bytes += bytes;
      of(RankSubject::site, site_name(item.site)).bytes += bytes;
    }
  }

  RankPart& of(RankSubject subject, uint32_t name) {
    RankPart& part = sums_[size_t(subject)][name];
    part.name = name;
    return part;
  }
  // kNone: of a block in no tensor.
  uint32_t category_name(uint32_t tensor) {
    const Category category = tensor == kNone ? Category::workspace : view_.holders.category(tensor);
    uint32_t& name = categories_[size_t(category)];
    if (name == kNone) name = names_.add(text(category));
    return name;
  }
  uint32_t module_name(const std::string& path) {
    const auto [at, fresh] = modules_.try_emplace(path, 0);
    if (fresh) at->second = names_.add(path.empty() ? "(in no module)" : path);
    return at->second;
  }
  uint32_t site_name(uint32_t site) {
    if (sites_[site] == kNone) sites_[site] = names_.add(places_.at(site).where);
    return sites_[site];
  }

  Places& places_;
  const View& view_;
  NamePool& names_;
  std::array<std::unordered_map<uint32_t, RankPart>, kRankSubjects> sums_;
  std::array<uint32_t, kCategories> categories_;
  std::unordered_map<std::string_view, uint32_t> modules_;  // of texts in the holders and places
  std::vector<uint32_t> sites_;
};

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
  const PartSums sums(opened, view, names);
  for (size_t i = 0; i < kRankSubjects; ++i) out.parts[i] = sums.parts(RankSubject(i));
  out.failure = failure_of(opened);
  return out;
}

}  // namespace tensorscope::analyzer
