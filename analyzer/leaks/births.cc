// SPDX-License-Identifier: Apache-2.0
#include "leaks/births.h"

#include <algorithm>

namespace tensorscope::analyzer {

namespace {

constexpr uint64_t kGapsAgo = 2;

void count_steps(const std::vector<Birth>& sorted, const Steps& steps, Births& births) {
  uint64_t largest = 1;
  size_t last = 0;
  for (const Birth& birth : sorted) {
    const size_t step = steps.step_of(birth.serial);
    if (births.steps > 0 && step == last) continue;
    if (births.steps > 0) largest = std::max<uint64_t>(largest, step - last);
    births.steps += 1;
    last = step;
  }
  const size_t first = steps.step_of(sorted.front().serial);
  const auto later =
      std::ranges::count_if(sorted, [&](const Birth& birth) { return steps.step_of(birth.serial) != first; });
  births.after_first_step = double(later) / double(sorted.size());
  births.of_steps = (last - first) * steps.every + 1;
  if (births.steps < births.generations) return;
  births.generations = births.steps;
  births.still_active = births.still_active || steps.ends.size() - last <= largest * kGapsAgo;
}

void count_gaps(const std::vector<Birth>& sorted, uint64_t now, Births& births) {
  constexpr uint64_t kGapPart = 4, kEvenPart = 2, kRunPart = 8;
  constexpr size_t kEarly = 2, kOf = 5;
  const auto gap_before = [&](size_t i) { return sorted[i].serial - sorted[i - 1].serial; };
  for (size_t i = 1; i < sorted.size(); ++i) births.largest_gap = std::max(births.largest_gap, gap_before(i));
  births.generations = 1;
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (gap_before(i) >= std::max<uint64_t>(births.largest_gap / kGapPart, 1)) ++births.generations;
  }
  const uint64_t span = sorted.back().serial - sorted.front().serial;
  const uint64_t middle = sorted.front().serial + span / 2;
  const auto early =
      std::count_if(sorted.begin(), sorted.end(), [&](const Birth& birth) { return birth.serial <= middle; });
  // What is left of a cache or buffer at its limit is mostly new, though some of the first may be in it.
  const bool early_too = size_t(early) * kOf >= sorted.size() * kEarly;
  births.even = early_too && span * kEvenPart >= births.largest_gap * (births.generations - 1);
  births.still_active = now - std::min(sorted.back().serial, now) <= births.largest_gap * kGapsAgo;
  births.much_of_run = span * kRunPart >= now;
}

}  // namespace

Births births_of(std::vector<Birth> births, const Dump& dump) {
  Births result;
  if (births.empty()) return result;
  std::sort(births.begin(), births.end(), [](const Birth& a, const Birth& b) { return a.serial < b.serial; });
  const uint64_t now = dump.process.dump_ns;
  const auto age = [&](const Birth& birth) { return now - std::min(birth.created_ns, now); };
  result.oldest_ns = age(births.front());
  result.newest_ns = age(births.back());
  count_gaps(births, dump.process.snapshot_serial, result);
  if (dump.steps.known()) count_steps(births, dump.steps, result);
  return result;
}

std::vector<Birth> births_of_tensors(const Dump& dump, const std::vector<uint32_t>& tensors) {
  std::vector<Birth> births;
  for (uint32_t tensor : tensors) births.push_back({dump.tensors[tensor].serial, dump.tensors[tensor].created_ns});
  return births;
}

std::vector<Birth> births_of_nodes(const Dump& dump, const std::vector<uint32_t>& nodes) {
  std::vector<Birth> births;
  for (uint32_t node : nodes) {
    const uint32_t seen = dump.graph.nodes[node].seen;
    if (seen != kNone) births.push_back({dump.nodes[seen].serial, dump.nodes[seen].created_ns});
  }
  return births;
}

bool grew_for_long(const Births& births) {
  constexpr uint64_t kMomentNs = 10'000'000;
  // In different steps of the program is at different times, however short they are.
  const bool one_moment =
      births.steps < kMinGenerations && !births.much_of_run && births.oldest_ns < births.newest_ns + kMomentNs;
  return births.generations >= kMinGenerations && births.still_active && !one_moment;
}

}  // namespace tensorscope::analyzer
