// Tensors that the program has no use for any more and that are still there: in unreachable cycles, in the frames of an
// exception that somebody keeps. One dump is enough.
#include <algorithm>
#include <map>

#include "leaks/case.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRoot;

constexpr uint64_t kLeastBytes = 64 << 10;  // a little garbage is always there until the collector's next run

// Tensors of a dump that Python refers to from such roots alone, by the root's scope.
std::map<std::string, std::vector<uint32_t>> held_only_from(const View& view, ReferenceRoot root) {
  std::map<std::string, std::vector<uint32_t>> result;
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    std::string scope;
    bool any = false, other = false;
    for (const Reference& row : view.dump.references.of(i)) {
      if (!holds(row)) continue;
      any = true;
      if (ReferenceRoot(row.root) == root) {
        scope = row.scope;
      } else {
        other = true;
      }
    }
    const bool garbage = root == ReferenceRoot::cycle && view.dump.references.present &&
                         view.dump.references.tensors[i].state == uint8_t(format::WrapperState::garbage);
    if ((any && !other) || garbage) {
      if (view.selection.tensor(i)) result[scope].push_back(i);
    }
  }
  return result;
}

// One finding for all such roots; named after the scope that keeps the most.
void find_held_from(Case& find, ReferenceRoot root, LeakFinding finding) {
  std::vector<uint32_t> all;
  uint64_t most = 0;
  size_t scopes = 0;
  for (auto& [scope, tensors] : held_only_from(find.last(), root)) {
    // A cycle through the autograd graph says better what to do.
    std::erase_if(tensors, [&](uint32_t tensor) { return find.explained(tensor); });
    if (tensors.empty()) continue;
    const uint64_t bytes = find.retention().only_by(tensors).bytes;
    if (bytes >= most) finding.holders = {scope};
    most = std::max(most, bytes);
    all.insert(all.end(), tensors.begin(), tensors.end());
    ++scopes;
  }
  if (all.empty()) return;
  for (size_t i = 0; i < find.dumps(); ++i) {
    std::vector<uint32_t> tensors;
    for (const auto& [scope, some] : held_only_from(find.view(i), root)) {
      tensors.insert(tensors.end(), some.begin(), some.end());
    }
    Retained kept = find.retention(i).only_by(tensors);
    finding.growth.count.push_back(kept.tensors.size());
    finding.growth.bytes.push_back(kept.bytes);
    if (i + 1 == find.dumps()) finding.tensors = std::move(kept.tensors);
  }
  finding.bytes = finding.growth.bytes.back();
  if (finding.bytes < kLeastBytes) return;
  if (scopes > 1) finding.evidence.push_back({FactKind::holders, {scopes}});
  finding.evidence.push_back({FactKind::retained_tensors, finding.growth.count});
  finding.evidence.push_back({FactKind::retained, finding.growth.bytes});
  finding.site = find.site_of(finding.tensors);
  find.add(std::move(finding));
}

}  // namespace

void find_cycles(Case& find) {
  LeakFinding finding;
  finding.kind = LeakKind::reference_cycle;
  // There what a trainer and its model refer to is garbage once the function that made them has returned.
  const bool at_exit = format::Trigger(find.last().dump.process.trigger) == format::Trigger::exit;
  finding.advice = at_exit ? Advice::cycle_at_exit : Advice::break_cycle;
  find_held_from(find, ReferenceRoot::cycle, std::move(finding));
}

void find_tracebacks(Case& find) {
  LeakFinding finding;
  finding.kind = LeakKind::traceback;
  finding.advice = Advice::drop_traceback;
  find_held_from(find, ReferenceRoot::traceback, std::move(finding));
}

}  // namespace tensorscope::analyzer
