// SPDX-License-Identifier: Apache-2.0
// What torch's autocast keeps until its context ends: the cast of each parameter that was used in it
// (at/src/autocast_mode.cpp, cached_casts), and through the cast's node the parameter and its gradient.
#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

namespace {

std::vector<uint32_t> casts_that_only_cpp_holds(const LeakAnalysis& analysis, size_t dump) {
  const View& view = analysis.view(dump);
  std::vector<uint32_t> casts;
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    if (analysis.retention(dump).cpp_only(i) && view.selection.tensor(i) &&
        analysis.retention(dump).leaf_of_cast(i) != kNoNode)
      casts.push_back(i);
  }
  return casts;
}

}  // namespace

void find_autocast_cache(LeakAnalysis& analysis) {
  if (analysis.dumps() < 2 || !analysis.retention().known()) return;
  LeakFinding finding;
  std::vector<uint32_t> casts;
  Retained kept;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    casts = casts_that_only_cpp_holds(analysis, i);
    kept = analysis.retention(i).only_by(casts);
    finding.growth.count.push_back(casts.size());
    finding.growth.bytes.push_back(kept.bytes);
    if (i == 0) finding.growth.first = tensor_serials(analysis.view(i).dump, casts);
  }
  finding.growth.kept = tensor_serials(analysis.last().dump, casts);
  if (!analysis.timeline().is_accumulating(finding.growth) || finding.growth.added_bytes() < int64_t(kMinGrowth))
    return;
  finding.kind = LeakKind::autocast_cache;
  finding.advice = Advice::clear_autocast_cache;
  finding.bytes = kept.bytes;
  finding.site = analysis.site_of(casts);
  finding.evidence = {{FactKind::cast_copies, finding.growth.count}, {FactKind::retained, finding.growth.bytes}};
  finding.tensors = std::move(kept.tensors);
  analysis.add(std::move(finding), kept.nodes);
}

}  // namespace tensorscope::analyzer
