// SPDX-License-Identifier: Apache-2.0
// Memory of the process that grows and is in no tensor.
#include <algorithm>

#include "leaks/leak_analysis.h"
#include "leaks/process_growth.h"

namespace tensorscope::analyzer {

namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kMinEach = 8 * kMiB;  // in each of several intervals, where malloc tells what it keeps for later
constexpr int64_t kMinOnce =
    64 * kMiB;  // in a single one, where malloc or Python has most of it, or where malloc did not answer

// What the process grew by, and not for tensors. Memory that tensors gave back and malloc keeps is no growth.
int64_t growth_between(const ProcessMemory& before, const ProcessMemory& after) {
  const int64_t grown = std::min(after.resident - before.resident, after.outside() - before.outside());
  const bool known = before.heap_known && after.heap_known;
  return grown - (known ? std::max<int64_t>(0, after.kept - before.kept) : 0);
}

// By how much grew what malloc and Python's small objects have in use; what one of the dumps does not know is left out.
int64_t asked_for_more(const ProcessMemory& before, const ProcessMemory& after) {
  const bool python = before.python_known && after.python_known;
  return after.heap - before.heap + (python ? after.python - before.python : 0);
}

bool grows_enough(const std::vector<ProcessMemory>& memory) {
  if (memory.size() == 2) {
    const int64_t growth = growth_between(memory[0], memory[1]);
    const bool known = memory[0].heap_known && memory[1].heap_known;
    return known && growth >= kMinOnce && asked_for_more(memory[0], memory[1]) >= growth / 4 * 3;
  }
  // What malloc keeps, of a dump's own work too, looks like growth where it does not tell.
  for (size_t i = 1; i < memory.size(); ++i) {
    const bool known = memory[i - 1].heap_known && memory[i].heap_known;
    if (growth_between(memory[i - 1], memory[i]) < (known ? kMinEach : kMinOnce)) return false;
  }
  return true;
}

}  // namespace

void find_process_memory(LeakAnalysis& analysis) {
  if (analysis.dumps() < 2 || !analysis.unfiltered()) return;
  std::vector<ProcessMemory> memory;
  std::vector<View> views;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    views.push_back(analysis.view(i));
    memory.push_back(process_memory(analysis.view(i)));
  }
  for (const ProcessMemory& one : memory) {
    if (one.resident == 0) return;
  }
  if (!grows_enough(memory)) return;

  ProcessGrowth growth = process_growth(views);
  LeakFinding finding;
  finding.kind = LeakKind::process_memory;
  finding.evidence = std::move(growth.parts);
  Fact children{FactKind::children};
  for (const View& view : views) children.values.push_back(view.dump.totals.children);
  const bool children_known =
      std::all_of(views.begin(), views.end(), [](const View& view) { return view.dump.totals.children_known; });
  if (children_known && children.values.back() > 0) finding.evidence.push_back(std::move(children));
  const bool heap_known =
      std::all_of(memory.begin(), memory.end(), [](const ProcessMemory& one) { return one.heap_known; });
  for (const ProcessMemory& one : memory) {
    finding.growth.count.push_back(0);
    finding.growth.bytes.push_back(uint64_t(std::max<int64_t>(0, one.outside() - (heap_known ? one.kept : 0))));
  }
  finding.bytes = finding.growth.bytes.back();
  finding.advice = heap_known ? Advice::process_part : Advice::process_unknown;
  finding.process_part = growth.grew_most;
  analysis.add(std::move(finding));
}

}  // namespace tensorscope::analyzer
