// SPDX-License-Identifier: Apache-2.0
#include "forecast/peak_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "memory/grouping.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer::forecast {

namespace {

Powers highest(Powers a, const Powers& b) {
  for (size_t i = 0; i < kMaxSizes; ++i) a[i] = std::max(a[i], b[i]);
  return a;
}

SiteRow& row(std::map<std::string, SiteRow>& sites, const Sample& base, uint32_t block) {
  const Block& of = base.blocks[block];
  const std::string where = place_of(base, block), modules = base.modules(block);
  SiteRow& site = sites[where + "\n" + analyzer::text(of.category)];
  if (site.where.empty()) {
    site.where = where;
    site.site = of.site;
    site.forward = of.forward;
    site.category = of.category;
    site.modules = modules;
  } else if (site.modules != modules) {
    site.modules = merge_module_paths(site.modules, modules);
  }
  return site;
}

void add_sites(std::map<std::string, SiteRow>& sites, const PeakQuestion& of, const Replay& replay,
               const std::vector<LiveBlock>& alive) {
  for (const LiveBlock& live : alive) {
    const ReplayBlock& replay_block = replay.blocks[live.replay_block];
    if (live.bytes == 0) continue;
    const Growth& growth = replay.growths[replay_block.growth];
    SiteRow& site = row(sites, of.samples[of.base], replay_block.block);
    site.predicted.bytes += live.bytes;
    site.predicted.spread += growth.spread(of.target, of.base_values) * replay_block.factor;
    site.powers = highest(site.powers, growth.powers());
    site.basis = std::max(site.basis, growth.basis());
  }
}

}  // namespace

std::string place_of(const Sample& base, uint32_t block) {
  const Block& of = base.blocks[block];
  return (of.forward != 0 ? "backward of " : "") + base.opened->places.at(of.place()).where;
}

PeakRows rows_at_peak(const PeakQuestion& of, const Replay& replay, size_t change) {
  const Sample& base = of.samples[of.base];
  PeakRows out;
  std::map<std::string, SiteRow> sites;
  std::map<Category, CategoryRow> categories;
  const std::vector<LiveBlock> at_peak = live_after(replay, change, of.target);
  for (const LiveBlock& live : at_peak) {
    const ReplayBlock& replay_block = replay.blocks[live.replay_block];
    if (live.bytes == 0) continue;
    const Growth& growth = replay.growths[replay_block.growth];
    CategoryRow& category = categories[replay_block.category];
    category.predicted.bytes += live.bytes;
    category.predicted.spread += growth.spread(of.target, of.base_values) * replay_block.factor;
    category.powers = highest(category.powers, growth.powers());
  }
  add_sites(sites, of, replay, at_peak);
  for (size_t i = 0; i < of.samples.size(); ++i) {
    const Sample& sample = of.samples[i];
    std::vector<uint8_t> alive(sample.blocks.size());
    for (size_t c = 0; c <= sample.at_peak && c < sample.changes.size(); ++c) {
      alive[sample.changes[c].block] = sample.changes[c].made;
    }
    for (size_t b = 0; b < alive.size(); ++b) {
      if (!alive[b]) continue;
      CategoryRow& category = categories[sample.blocks[b].category];
      category.seen.resize(of.samples.size());
      category.seen[i] += sample.blocks[b].nbytes;
      if (i == of.base) row(sites, base, uint32_t(b)).seen += sample.blocks[b].nbytes;
    }
  }
  for (auto& [category, line] : categories) {
    line.category = category;
    line.seen.resize(of.samples.size());
    out.categories.push_back(std::move(line));
  }
  const auto more = [](const auto& a, const auto& b) { return a.predicted.bytes > b.predicted.bytes; };
  std::ranges::stable_sort(out.categories, more);
  for (auto& [key, site] : sites) out.sites.push_back(std::move(site));
  std::ranges::stable_sort(out.sites, more);
  // What may be off counts where it may make the peak.
  std::map<std::string, SiteRow> doubtful;
  add_sites(doubtful, of, replay,
            live_after(replay, highest_possible(replay, of.target, of.base_values).change, of.target));
  for (auto& [key, site] : doubtful) {
    if (site.predicted.spread > 0 && site.basis >= Basis::assumed) out.unexplained.push_back(std::move(site));
  }
  std::ranges::stable_sort(out.unexplained,
                           [](const SiteRow& a, const SiteRow& b) { return a.predicted.spread > b.predicted.spread; });
  return out;
}

std::vector<UnknownType> unknown_types(const PeakQuestion& of, const Replay& replay, size_t change) {
  const Sample& base = of.samples[of.base];
  std::map<std::string, UnknownType> sites;
  for (const LiveBlock& live : live_after(replay, change, of.target)) {
    const ReplayBlock& replay_block = replay.blocks[live.replay_block];
    if (replay_block.unsure == 0 || live.bytes == 0 || replay_block.place() == kNone) continue;
    const std::string where = place_of(base, replay_block.place()), modules = base.modules(replay_block.place());
    UnknownType& site = sites[where + "\n" + with_wildcards(modules)];
    site.modules = site.where.empty() || site.modules == modules ? modules : merge_module_paths(site.modules, modules);
    site.where = where;
    site.bytes += replay_block.unsure * live.bytes;
  }
  std::vector<UnknownType> found;
  for (auto& [where, site] : sites) found.push_back(std::move(site));
  std::ranges::stable_sort(found, [](const UnknownType& a, const UnknownType& b) { return a.bytes > b.bytes; });
  return found;
}

}  // namespace tensorscope::analyzer::forecast
