// SPDX-License-Identifier: Apache-2.0
// Small views that keep large storages: `kept.append(batch[0])`. One dump is enough.
#include <algorithm>
#include <map>

#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRoot;

// A storage counts where its tensors, all together, use at most a quarter of it; a variable or container where what
// is not used comes to at least a mebibyte.
constexpr uint64_t kMinUnused = 1 << 20;
constexpr uint64_t kPart = 4;

// What the views on it do not use; 0: enough of it is used, or not everything is known. A base that only its views hold
// uses nothing.
uint64_t unused(const Dump& dump, const Retention& retention, const Storage& storage) {
  uint64_t used = 0;
  for (uint32_t tensor : storage.tensors) {
    if (retention.is_only_a_base(tensor)) continue;
    if (!has(dump.tensors[tensor], format::TensorFlag::view)) return 0;
    used += dump.tensors[tensor].nbytes;
  }
  return used == 0 || used > storage.nbytes / kPart ? 0 : storage.own_nbytes - std::min(used, storage.own_nbytes);
}

// A variable of a running function is most often about to go; what was there a dump ago, or lies in a container, stays.
bool lasts(const LeakAnalysis& analysis, const Series& series) {
  const auto root = ReferenceRoot(series.example.root);
  if (series.container || root == ReferenceRoot::global || root == ReferenceRoot::class_) return true;
  if (series.example.steps > 1 && root != ReferenceRoot::thread) return true;
  if (analysis.dumps() < 2) return false;
  const std::vector<uint32_t>& before = series.members[analysis.dumps() - 2];
  const Dump& then = analysis.view(analysis.dumps() - 2).dump;
  return std::any_of(series.members.back().begin(), series.members.back().end(), [&](uint32_t now) {
    return std::any_of(before.begin(), before.end(), [&](uint32_t tensor) {
      return then.tensors[tensor].serial == analysis.last().dump.tensors[now].serial;
    });
  });
}

struct Waste {
  std::vector<uint32_t> views;
  uint64_t used = 0, unused = 0;
};

Waste waste_of(const LeakAnalysis& analysis, size_t dump, const std::vector<uint32_t>& members) {
  const Dump& model = analysis.view(dump).dump;
  Waste waste;
  std::map<uint32_t, uint64_t> storages;
  for (uint32_t tensor : members) {
    const uint32_t storage = model.tensors[tensor].storage;
    if (storage == kNone) continue;
    const uint64_t bytes = unused(model, analysis.retention(dump), model.storages[storage]);
    if (bytes == 0) continue;
    waste.views.push_back(tensor);
    waste.used += model.tensors[tensor].nbytes;
    storages[storage] = bytes;
  }
  for (const auto& [storage, bytes] : storages) waste.unused += bytes;
  return waste;
}

}  // namespace

void find_small_views(LeakAnalysis& analysis) {
  for (const Series& series : analysis.series()) {
    Waste waste = waste_of(analysis, analysis.dumps() - 1, series.members.back());
    if (waste.unused < kMinUnused || !lasts(analysis, series) || analysis.explained(waste.views)) continue;
    LeakFinding finding;
    finding.kind = LeakKind::small_view;
    finding.holders = {analysis.label(series)};
    finding.advice = Advice::copy_view;
    finding.bytes = waste.used + waste.unused;
    finding.site = analysis.site_of(waste.views);
    for (size_t i = 0; i < analysis.dumps(); ++i) {
      const Waste then = waste_of(analysis, i, series.members[i]);
      finding.growth.count.push_back(then.views.size());
      finding.growth.bytes.push_back(then.used + then.unused);
    }
    finding.evidence = {{FactKind::views, finding.growth.count},
                        {FactKind::used_by_views, {waste.used}},
                        {FactKind::storages_of_views, {finding.bytes}},
                        {FactKind::rest_unused}};
    finding.tensors = analysis.retention().only_by(waste.views).tensors;
    analysis.add(std::move(finding));
  }
}

}  // namespace tensorscope::analyzer
