// SPDX-License-Identifier: Apache-2.0
// Memory that a process asks for and that is in no tensor, and that of its children, as findings.
#include <algorithm>
#include <optional>
#include <utility>

#include "leaks/grown_containers.h"
#include "leaks/leak_analysis.h"
#include "leaks/process_growth.h"
#include "tensorscope/rules/child_growth.h"

namespace tensorscope::analyzer {

namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kMinEach = 8 * kMiB;   // in each of several intervals
constexpr int64_t kMinEven = 1 * kMiB;   // likewise, where it is about the same in each
constexpr int64_t kMinOnce = 64 * kMiB;  // in a single one
// Likewise, where nothing else grows. What malloc has in healthy programs grew by 210 KiB at the most, and less in each
// interval.
constexpr int64_t kMinAlone = 384 << 10;

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
bool grows_evenly_enough(const std::vector<int64_t>& bytes, int64_t least = kMinEven) {
  const Increments all = increments_of(bytes);
  return bytes.size() > 2 && all.least >= least && all.least >= all.most / 2;
}

// Where nobody is known to have it: libraries keep what they compiled or looked up, by less and less.
bool grows_very_evenly(const std::vector<int64_t>& bytes) {
  constexpr int64_t kMost = 3, kOf = 4;
  const Increments all = increments_of(bytes);
  return all.least * kOf >= all.most * kMost;
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

// What a thread has of its own beside its stack (malloc's arena, thread-locals) stays as long as it lives.
bool grows_with_threads(LeakFinding& finding, const std::vector<View>& views) {
  constexpr uint64_t kMostEach = 2 << 20;
  std::vector<uint64_t> threads;
  for (const View& view : views) threads.push_back(uint64_t(std::ranges::count_if(view.dump.threads, &Thread::alive)));
  if (!in_proportion(threads, finding.growth.bytes)) return false;
  const uint64_t more = threads.back() - threads.front();
  if (uint64_t(finding.growth.added_bytes()) > more * kMostEach) return false;
  finding.evidence.push_back({FactKind::live_threads, threads});
  finding.holders = {"threads that do not end"};
  finding.advice = Advice::end_threads;
  return true;
}

// What no container's own bytes explain: objects of C++ whose memory is not known, where it grows as they do.
void name_cpp_objects(LeakFinding& finding, const std::vector<View>& views) {
  if (profiler_is_on(views)) {
    finding.holders = {views.back().dump.references.profilers.front() + " (profiler of torch, which is on)"};
    finding.advice = Advice::stop_profiler;
    return;
  }
  for (const ContainerGrowth& container : containers_in_proportion(views, finding.growth.bytes)) {
    finding.holders.push_back(container.name);
    finding.places.push_back(container.place);
    finding.evidence.push_back({FactKind::in_step, container.cpp_objects, container.name_with_cpp_type()});
    finding.advice = Advice::bound_cpp_objects;
  }
}

// What neither containers nor objects that become more explain: objects that are there all the time.
void name_opaque_objects(LeakFinding& finding, const std::vector<View>& views) {
  finding.holders = opaque_objects(views);
  if (!finding.holders.empty()) finding.advice = Advice::empty_opaque_objects;
}

// Where no container's own bytes explain it.
void name_others(LeakFinding& finding, const std::vector<View>& views) {
  if (grows_with_threads(finding, views)) return;
  name_cpp_objects(finding, views);
  if (finding.holders.empty()) name_opaque_objects(finding, views);
}

// The holders of a finding, whose growth is theirs from now on.
class HolderGrowth {
 public:
  HolderGrowth(LeakFinding& finding, size_t dumps) : finding_(finding) {
    held_.count.assign(dumps, 0);
    held_.bytes.assign(dumps, 0);
  }
  bool full() const { return finding_.holders.size() == kMost; }

  // What is allocated with the objects of one holder and Python does not count, as malloc's own words and buffers of
  // extensions, where that is little and as even as they are.
  void add_uncounted(const std::vector<uint64_t>& whole) {
    constexpr int64_t kLeast = 256 << 10, kQuarter = 4;
    std::vector<int64_t> rest;
    for (size_t i = 0; i < whole.size(); ++i) {
      const auto more = [i](const std::vector<uint64_t>& bytes) { return int64_t(bytes[i]) - int64_t(bytes[0]); };
      rest.push_back(more(whole) - more(held_.bytes));
    }
    const bool little = rest.back() * kQuarter <= int64_t(whole.back()) - int64_t(whole.front());
    if (finding_.holders.size() != 1 || !little || rest.back() < kLeast || !grows_very_evenly(rest)) return;
    for (size_t i = 0; i < rest.size(); ++i) held_.bytes[i] += uint64_t(std::max<int64_t>(0, rest[i]));
  }
  int64_t added_bytes() const { return held_.added_bytes(); }

  void add(const ContainerGrowth& container) {
    if (std::ranges::find(finding_.holders, container.name) == finding_.holders.end())
      finding_.holders.push_back(container.name);
    if (container.entries.back() != container.entries.front())
      finding_.evidence.push_back({FactKind::container_entries, container.entries, container.short_name});
    finding_.evidence.push_back({FactKind::container_bytes, container.bytes, container.short_name});
    for (size_t i = 0; i < held_.count.size(); ++i) {
      held_.count[i] += container.entries[i];
      held_.bytes[i] += container.bytes[i];
    }
  }

  void take_growth() {
    finding_.evidence.push_back({FactKind::outside_growth, finding_.growth.bytes});
    finding_.growth = std::move(held_);
    finding_.bytes = finding_.growth.bytes.back();
    finding_.counts = LeakFinding::Counts::entries;
    // An array that is copied into a larger one has as many entries as before, or none that Python knows of.
    const bool more = finding_.growth.count.back() > finding_.growth.count.front();
    finding_.advice = more ? Advice::bound_container : Advice::bound_earlier_data;
  }

 private:
  static constexpr size_t kMost = 3;
  LeakFinding& finding_;
  Growth held_;
};

// Containers that grew, where these have half of what grew outside of tensors or more: they are the holder. Where they
// have less they are evidence.
void name_holders(LeakFinding& finding, const std::vector<View>& views, const std::vector<ContainerGrowth>& grown) {
  constexpr int64_t kSmallPart = 16, kTenth = 10;
  const int64_t all = finding.growth.added_bytes();
  HolderGrowth holders(finding, views.size());
  for (const ContainerGrowth& container : grown) {
    if (container.added_bytes() * kSmallPart < all || holders.full()) break;
    holders.add(container);
  }
  if (finding.holders.empty()) {
    name_others(finding, views);
    return;
  }
  const int64_t rest = std::max<int64_t>(0, all - holders.added_bytes());
  finding.evidence.push_back({FactKind::in_no_container, {uint64_t(rest)}});
  // Objects of C++ in the container may have the rest, which Python does not know.
  const auto has_all = [&](const ContainerGrowth& container) {
    return container.name == finding.holders.front() && grows_in_proportion(container, finding.growth.bytes);
  };
  if (rest * kTenth > all && finding.holders.size() == 1 && std::ranges::any_of(grown, has_all)) {
    finding.advice = Advice::bound_cpp_objects;
    return;
  }
  if (rest * 2 <= all) {
    holders.add_uncounted(finding.growth.bytes);
    return holders.take_growth();
  }
  finding.holders.clear();
  name_cpp_objects(finding, views);
}

// A container's table grows in bursts, as its capacity doubles: its entries show how it grows.
bool grows_evenly_enough(const ContainerGrowth& container) {
  if (grows_evenly_enough({container.bytes.begin(), container.bytes.end()}, kMinExact)) return true;
  const auto intervals = int64_t(container.bytes.size()) - 1;
  return grows_evenly(container.entries) && grows(container.bytes) && container.added_bytes() >= kMinExact * intervals;
}

// What a container keeps is counted object by object, whoever allocated it: it is a finding of its own where the
// process as a whole shows no growth that is even, as where another allocator than malloc has the memory.
bool name_exact_holders(LeakFinding& finding, const std::vector<View>& views,
                        const std::vector<ContainerGrowth>& grown) {
  HolderGrowth holders(finding, views.size());
  for (const ContainerGrowth& container : grown) {
    if (grows_evenly_enough(container) && !holders.full()) holders.add(container);
  }
  if (finding.holders.empty()) return false;
  holders.take_growth();
  return true;
}

// Of two dumps: what came, and who keeps it.
bool name_holders_of_one_interval(LeakFinding& finding, const std::vector<View>& views,
                                  const std::vector<ContainerGrowth>& grown, int64_t added) {
  HolderGrowth holders(finding, views.size());
  for (const ContainerGrowth& container : grown) {
    if (container.added_bytes() >= kMinExact && !holders.full()) holders.add(container);
  }
  if (!finding.holders.empty()) {
    holders.take_growth();
  } else if (added >= kMinEven) {
    name_opaque_objects(finding, views);
  }
  return !finding.holders.empty();
}

// Whether nobody is known to have it for certain.
bool is_guess(const LeakFinding& finding) {
  return finding.holders.empty() || finding.advice == Advice::empty_opaque_objects;
}

// Where the threads, or the container whose extension objects explain it, are those of another finding: traced
// functions, with the tensors that they have. C++ code that keeps tensors which nobody else has keeps its own objects
// with them.
LeakFinding* finding_with_same_owner(LeakAnalysis& analysis, const LeakFinding& finding) {
  LeakFinding* other = nullptr;
  if (finding.advice == Advice::end_threads) other = analysis.finding_with(Advice::end_threads);
  if (is_guess(finding)) other = analysis.finding_with(Advice::bound_cpp);
  for (size_t i = 0; i < finding.places.size() && other == nullptr; ++i) other = analysis.finding_of(finding.places[i]);
  return other;
}

// Plain objects in cycles that nothing refers to wait for Python's garbage collector, which looks at old ones seldom.
// Takes them out of `containers`; returns the one that grew most where they have most of what grew, or much.
std::optional<ContainerGrowth> garbage_that_grew(std::vector<ContainerGrowth>& containers, int64_t added) {
  std::optional<ContainerGrowth> most;
  int64_t sum = 0;
  std::erase_if(containers, [&](const ContainerGrowth& container) {
    if (!container.waits_for_collector()) return false;
    if (!most) most = container;
    sum += container.added_bytes();
    return true;
  });
  const bool explains = most && (sum * 2 > added || most->added_bytes() >= kMinExact);
  return explains ? most : std::nullopt;
}

// What the containers of other findings have outside of tensors is theirs. Returns how much that is; `containers` has
// the others afterwards.
int64_t leave_to_other_findings(LeakAnalysis& analysis, std::vector<ContainerGrowth>& containers) {
  int64_t sum = 0;
  std::erase_if(containers, [&](const ContainerGrowth& container) {
    LeakFinding* finding = analysis.finding_of(container.place);
    if (finding == nullptr) return false;
    if (container.added_bytes() >= kMinExact)
      finding->evidence.push_back({FactKind::container_bytes, container.bytes, container.short_name});
    sum += container.added_bytes();
    return true;
  });
  return sum;
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
  std::vector<ContainerGrowth> containers = grown_containers(views);
  LeakFinding finding;
  finding.kind = LeakKind::process_memory;
  const Grown grown = parts_that_grew(memory);
  finding.growth = growth_of(grown.bytes);
  finding.bytes = finding.growth.bytes.back();
  finding.advice = Advice::process_part;
  finding.process_part = grown.most;
  // Where something else explains most of it, only what other containers have by themselves is a finding.
  const int64_t added = finding.growth.added_bytes();
  bool explained = leave_to_other_findings(analysis, containers) * 2 > added;
  if (const std::optional<ContainerGrowth> garbage = garbage_that_grew(containers, added)) {
    LeakFinding what = finding;
    HolderGrowth holders(what, views.size());
    holders.add(*garbage);
    explained = explained || holders.added_bytes() * 2 > added;
    holders.take_growth();
    analysis.add_remark(Remark::Reason::waits_for_collector, std::move(what));
  }
  bool once = false;
  if (!explained && (grows_enough(requested) || grows_evenly_enough(exact))) {
    name_holders(finding, views, containers);
  } else if (views.size() == 2) {
    once = true;
    if (!name_holders_of_one_interval(finding, views, containers, exact.back() - exact.front())) return;
  } else if (!name_exact_holders(finding, views, containers)) {
    if (explained || !grows_evenly_enough(exact, kMinExact)) return;
    // A leak that is found has objects of C++ whose memory nobody counts.
    if (!analysis.has_findings() && grows_evenly_enough(exact, kMinAlone)) {
      name_others(finding, views);
    } else {
      name_cpp_objects(finding, views);
      if (finding.holders.empty()) return;
    }
  }
  for (Fact& part : process_growth(views).parts) finding.evidence.push_back(std::move(part));
  if (LeakFinding* other = finding_with_same_owner(analysis, finding)) {
    other->evidence.push_back({FactKind::outside_growth, finding.growth.bytes});
    return;
  }
  if (!once && is_guess(finding) && !grows_enough(requested) && !grows_very_evenly(exact)) return;
  if (once) return analysis.add_remark(Remark::Reason::one_interval, std::move(finding));
  analysis.add(std::move(finding));
}

namespace {

// What children have of their own. A page that a forked child writes to, as a change of a reference count does, becomes
// private and was resident before; a page of a file that is read becomes resident and is not private: of each interval
// the smaller growth counts.
std::vector<int64_t> own_of_children(const std::vector<View>& views) {
  std::vector<int64_t> bytes;
  const Totals* before = nullptr;
  for (const View& view : views) {
    const Totals& totals = view.dump.totals;
    const auto added = [&](uint64_t Totals::*field) { return int64_t(totals.*field - before->*field); };
    bytes.push_back(before == nullptr ? int64_t(totals.children_private_bytes)
                                      : bytes.back() + std::min(added(&Totals::children_private_bytes),
                                                                added(&Totals::children_resident_bytes)));
    before = &totals;
  }
  return bytes;
}

}  // namespace

void find_child_processes(LeakAnalysis& analysis) {
  if (analysis.dumps() < 2 || !analysis.unfiltered()) return;
  const uint32_t children = analysis.last().dump.totals.children;
  Fact count{FactKind::children}, own{FactKind::children_private}, resident{FactKind::children_resident};
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    const Totals& totals = analysis.view(i).dump.totals;
    // Children that began in between have grown by all that they have.
    if (!totals.children_known || totals.children != children || totals.children_private_bytes == 0) return;
    own.values.push_back(totals.children_private_bytes);
    resident.values.push_back(totals.children_resident_bytes);
    count.values.push_back(totals.children);
  }
  const std::vector<int64_t> bytes = own_of_children(analysis.views());
  const bool evenly = grows_evenly_enough(bytes, rules::kLeastChildGrowth) && grows_very_evenly(bytes);
  if (!grows_enough(bytes) && !grows_evenly_enough(bytes) && !evenly) return;
  LeakFinding finding;
  finding.kind = LeakKind::child_processes;
  finding.growth = growth_of(bytes);
  finding.bytes = finding.growth.bytes.back();
  finding.evidence = {std::move(own), std::move(resident), std::move(count)};
  finding.advice = Advice::look_in_children;
  analysis.add(std::move(finding));
}

}  // namespace tensorscope::analyzer
