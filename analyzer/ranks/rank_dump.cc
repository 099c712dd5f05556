// SPDX-License-Identifier: Apache-2.0
#include "ranks/rank_dump.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dump_generated.h"
#include "memory/grouping.h"
#include "memory/no_module.h"
#include "memory/opened_dump.h"

namespace tensorscope::analyzer {

namespace {

// The parts of one subject, found by numbers that several of its names may share.
class SubjectSums {
 public:
  SubjectSums(NamePool& names, size_t numbers) : names_(names), at_(numbers, kNone) {}

  // `name` is called when the number comes for the first time.
  template <typename Name>
  RankPart& of(uint32_t number, Name name) {
    if (at_[number] == kNone) at_[number] = with_name(names_.add(name()));
    return parts_[at_[number]];
  }

  std::vector<RankPart> by_name() const {
    std::vector<RankPart> out = parts_;
    std::sort(out.begin(), out.end(), [](const RankPart& a, const RankPart& b) { return a.name < b.name; });
    return out;
  }

 private:
  uint32_t with_name(uint32_t name) {
    const auto [found, fresh] = by_name_.try_emplace(name, uint32_t(parts_.size()));
    if (fresh) parts_.push_back({.name = name});
    return found->second;
  }

  NamePool& names_;
  std::vector<uint32_t> at_;  // by number: index into parts_
  std::vector<RankPart> parts_;
  std::unordered_map<uint32_t, uint32_t> by_name_;
};

// What report --by category, module and line say, in one pass and without what only a report shows.
class PartSums {
 public:
  PartSums(OpenedDump& opened, const View& view, NamePool& names)
      : places_(opened.places),
        view_(view),
        modules_(view.holders.modules()),
        no_module_(no_module(view.dump)),
        sums_{SubjectSums(names, kCategories), SubjectSums(names, modules_.numbers() + view.dump.sites.size()),
              SubjectSums(names, view.dump.sites.size())} {
    prefetch();
    add_items();
    for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
      if (!view.selection.tensor(i)) continue;
      category(i).tensors += 1;
      module(modules_.number(i)).tensors += 1;
      site(effective_site(view.dump, view.accounts, places_, i)).tensors += 1;
    }
  }

  std::vector<RankPart> parts(RankSubject subject) const { return sums_[size_t(subject)].by_name(); }

 private:
  void prefetch() {
    std::vector<bool> used(view_.dump.sites.size());
    for (const Item& item : view_.accounts.items()) used[item.site] = true;
    for (const Tensor& tensor : view_.dump.tensors) used[tensor.site] = true;
    std::vector<uint32_t> sites;
    for (uint32_t site = 0; site < used.size(); ++site) {
      if (used[site]) sites.push_back(site);
    }
    places_.prefetch(sites, false);
  }

  void add_items() {
    const std::vector<Item>& items = view_.accounts.items();
    for (uint32_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      if (!view_.selection.item(i) || (item.storage == kNone && item.allocation == kNone)) continue;
      const uint32_t representative = view_.selection.representative(i);
      const uint64_t bytes = view_.selection.item_bytes(i);
      category(representative).bytes += bytes;
      (representative == kNone ? module_of_site(item.site) : module(modules_.number(representative))).bytes += bytes;
      site(item.site).bytes += bytes;
    }
  }

  // kNone: of a block in no tensor.
  RankPart& category(uint32_t tensor) {
    const Category category = tensor == kNone ? Category::workspace : view_.holders.category(tensor);
    return sums_[size_t(RankSubject::category)].of(uint32_t(category), [&] { return text(category); });
  }
  RankPart& module(uint32_t number) {
    return sums_[size_t(RankSubject::module)].of(number, [&] { return module_name(modules_.path(number)); });
  }
  // Numbers of sites come after those of modules.
  RankPart& module_of_site(uint32_t site) {
    return sums_[size_t(RankSubject::module)].of(uint32_t(modules_.numbers()) + site,
                                                 [&] { return module_name(places_.module_path(site)); });
  }
  RankPart& site(uint32_t site) {
    return sums_[size_t(RankSubject::site)].of(site, [&] { return std::string_view(places_.at(site).where); });
  }
  std::string_view module_name(const std::string& path) const {
    return path.empty() ? std::string_view(no_module_) : path;
  }

  Places& places_;
  const View& view_;
  const TensorModules& modules_;
  const char* const no_module_;
  std::array<SubjectSums, kRankSubjects> sums_;
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
  out.unread = opened.places.unread().files();
  return out;
}

}  // namespace tensorscope::analyzer
