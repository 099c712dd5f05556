// SPDX-License-Identifier: Apache-2.0
// Memory that a process asks for and that is in no tensor, and that of its children, as findings.
#include <algorithm>

#include "leaks/grown_containers.h"
#include "leaks/leak_analysis.h"
#include "leaks/process_growth.h"

namespace tensorscope::analyzer {

namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kMinEach = 8 * kMiB;   // in each of several intervals
constexpr int64_t kMinEven = 1 * kMiB;   // likewise, where it is about the same in each
constexpr int64_t kMinOnce = 64 * kMiB;  // in a single one

struct Increments {
  int64_t least = INT64_MAX, most = 0;
};
Increments increments_of(const std::vector<int64_t>& bytes) {
  Increments all;
  for (size_t i = 1; i < bytes.size(); ++i) {
    all.least = std::min(all.least, bytes[i] - bytes[i - 1]);
    all.most = std::max(all.most, bytes[i] - bytes[i - 1]);
  }
  return all;
}

bool grows_enough(const std::vector<int64_t>& bytes) {
  return increments_of(bytes).least >= (bytes.size() == 2 ? kMinOnce : kMinEach);
}

// Of what was allocated to the byte: what nothing keeps varies by some 20 KiB from dump to dump.
bool grows_evenly_enough(const std::vector<int64_t>& bytes) {
  const Increments all = increments_of(bytes);
  return bytes.size() > 2 && all.least >= kMinEven && all.least >= all.most / 2;
}

Growth growth_of(const std::vector<int64_t>& bytes) {
  Growth growth;
  for (int64_t value : bytes) {
    growth.count.push_back(0);
    growth.bytes.push_back(uint64_t(std::max<int64_t>(0, value)));
  }
  return growth;
}

// A part of what was asked for.
struct Requested {
  FactKind kind;
  int64_t (*bytes)(const ProcessMemory&);
};
constexpr Requested kRequested[] = {
    {FactKind::malloc_in_use, [](const ProcessMemory& memory) { return memory.heap - memory.borrowed; }},
    {FactKind::python_in_use, [](const ProcessMemory& memory) { return memory.python; }},
    {FactKind::shared_memory, [](const ProcessMemory& memory) { return memory.shared; }},
    {FactKind::other_private, [](const ProcessMemory& memory) { return memory.other_private(); }}};

// The sum of the parts that grew, one a dump, and the one that grew most.
struct Grown {
  std::vector<int64_t> bytes;
  FactKind most = FactKind::malloc_in_use;
};
Grown parts_that_grew(const std::vector<ProcessMemory>& memory) {
  Grown grown;
  grown.bytes.resize(memory.size());
  int64_t largest = 0;
  for (const Requested& part : kRequested) {
    const int64_t growth = part.bytes(memory.back()) - part.bytes(memory.front());
    if (growth <= 0) continue;
    if (growth > largest) grown.most = part.kind;
    largest = std::max(largest, growth);
    for (size_t i = 0; i < memory.size(); ++i) grown.bytes[i] += part.bytes(memory[i]);
  }
  return grown;
}

// What no container's own bytes explain: objects of C++ whose memory is not known, where it grows as they do.
void name_cpp_objects(LeakFinding& finding, const std::vector<View>& views) {
  for (const ContainerGrowth& container : containers_in_proportion(views, finding.growth.bytes)) {
    finding.holders.push_back(container.name);
    finding.evidence.push_back({FactKind::in_step, container.cpp_objects, container.name_with_cpp_type()});
    finding.advice = Advice::bound_cpp_objects;
  }
}

// Containers that grew, where these have half of what grew outside of tensors or more: they are the holder. Where they
// have less they are evidence.
void name_holders(LeakFinding& finding, const std::vector<View>& views) {
  constexpr size_t kMost = 3;
  constexpr int64_t kSmallPart = 16;
  const int64_t all = finding.growth.added_bytes();
  Growth held;
  held.count.assign(views.size(), 0);
  held.bytes.assign(views.size(), 0);
  for (const ContainerGrowth& container : grown_containers(views)) {
    if (container.added_bytes() * kSmallPart < all || finding.holders.size() == kMost) break;
    if (std::ranges::find(finding.holders, container.name) == finding.holders.end())
      finding.holders.push_back(container.name);
    if (container.entries.back() != container.entries.front())
      finding.evidence.push_back({FactKind::container_entries, container.entries, container.short_name});
    finding.evidence.push_back({FactKind::container_bytes, container.bytes, container.short_name});
    for (size_t i = 0; i < views.size(); ++i) {
      held.count[i] += container.entries[i];
      held.bytes[i] += container.bytes[i];
    }
  }
  if (finding.holders.empty()) return name_cpp_objects(finding, views);
  const int64_t rest = std::max<int64_t>(0, all - held.added_bytes());
  finding.evidence.push_back({FactKind::in_no_container, {uint64_t(rest)}});
  if (rest * 2 > all) {
    finding.holders.clear();
    return name_cpp_objects(finding, views);
  }
  finding.evidence.push_back({FactKind::outside_growth, finding.growth.bytes});
  finding.growth = std::move(held);
  finding.bytes = finding.growth.bytes.back();
  finding.counts = LeakFinding::Counts::entries;
  // An array that is copied into a larger one has as many entries as before, or none that Python knows of.
  finding.advice =
      finding.growth.count.back() > finding.growth.count.front() ? Advice::bound_container : Advice::bound_earlier_data;
}

}  // namespace

void find_process_memory(LeakAnalysis& analysis) {
  if (analysis.dumps() < 2 || !analysis.unfiltered()) return;
  const std::vector<View>& views = analysis.views();
  const std::vector<ProcessMemory> memory = comparable_memory(views);
  std::vector<int64_t> requested, exact;
  for (const ProcessMemory& one : memory) {
    if (one.resident == 0 || !one.heap_known) return;
    requested.push_back(one.requested());
    exact.push_back(one.requested() - one.other_private());
  }
  if (!grows_enough(requested) && !grows_evenly_enough(exact)) return;
  LeakFinding finding;
  finding.kind = LeakKind::process_memory;
  const Grown grown = parts_that_grew(memory);
  finding.growth = growth_of(grown.bytes);
  finding.bytes = finding.growth.bytes.back();
  finding.advice = Advice::process_part;
  finding.process_part = grown.most;
  name_holders(finding, views);
  for (Fact& part : process_growth(views).parts) finding.evidence.push_back(std::move(part));
  analysis.add(std::move(finding));
}

namespace {

// Forked children copy each page of their parent that they write to, as a change of a reference count is: at most all
// of its pages, so that one interval shows nothing else.
bool may_be_copies(const View& view) {
  const Totals& totals = view.dump.totals;
  return totals.children_private_bytes <= totals.children * totals.anonymous_bytes;
}

}  // namespace

void find_child_processes(LeakAnalysis& analysis) {
  if (analysis.dumps() < 2 || !analysis.unfiltered()) return;
  const uint32_t children = analysis.last().dump.totals.children;
  std::vector<int64_t> bytes;
  Fact count{FactKind::children};
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    const Totals& totals = analysis.view(i).dump.totals;
    // Children that began in between have grown by all that they have.
    if (!totals.children_known || totals.children != children || totals.children_private_bytes == 0) return;
    bytes.push_back(int64_t(totals.children_private_bytes));
    count.values.push_back(totals.children);
  }
  if (!(grows_enough(bytes) || grows_evenly_enough(bytes)) ||
      (analysis.timeline().weak() && may_be_copies(analysis.last())))
    return;
  LeakFinding finding;
  finding.kind = LeakKind::child_processes;
  finding.growth = growth_of(bytes);
  finding.bytes = finding.growth.bytes.back();
  finding.evidence = {{FactKind::children_private, finding.growth.bytes}, std::move(count)};
  finding.advice = Advice::look_in_children;
  analysis.add(std::move(finding));
}

}  // namespace tensorscope::analyzer
