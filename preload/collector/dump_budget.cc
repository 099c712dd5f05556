// SPDX-License-Identifier: Apache-2.0
#include "collector/dump_budget.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <string_view>

#include "dump/tensor_facts.h"
#include "python/references.h"
#include "tensorscope/rules/number_text.h"

namespace tensorscope::collector {

namespace {

// Measured with 1,000 to 200,000 tensors and nodes on CPython 3.11 and torch 2.13 (docs/limits.md), and rounded up:
// chunks while they are put together, with texts, stacks and source lines; a node of the graph with its edges, its
// saved tensors and its place in the walk; a tensor's place in that walk; a tensor with its allocation in the short
// report, and an allocation whose tensor it does not look at.
constexpr uint64_t kChunks = uint64_t{4} << 20;
constexpr uint64_t kNode = 420, kTensorInGraph = 32, kTensorInReport = 144, kAllocationInReport = 40;
constexpr size_t kFewTensors = 100;
// In the file: a tensor with its holders and an allocation.
constexpr uint64_t kTensorInFile = 260, kAllocationInFile = 64, kNodeInFile = 320;

bool take(uint64_t bytes, uint64_t& rest) {
  if (bytes > rest) return false;
  rest -= bytes;
  return true;
}

size_t most(uint64_t bytes, size_t tensors, size_t allocations, uint64_t each) {
  const uint64_t common = allocations * kAllocationInReport;
  const uint64_t rest = bytes - std::min(bytes, common);
  const size_t fit = size_t(std::min<uint64_t>(tensors, rest / (each - kAllocationInReport)));
  return fit < tensors && fit < kFewTensors ? 0 : fit;
}

}  // namespace

MemoryRoom MemoryRoom::of(const SystemMemory& memory) {
  MemoryRoom room;
  for (const WatchedLimit& watched : kWatchedLimits) {
    const LimitState& state = memory.*watched.state;
    const uint64_t left = state.left;
    if (!state.is_set() || watched.used_by == UsedBy::files || left >= room.left) continue;
    room = {watched.limit, left, left - left / 8, left - left / 4};
  }
  return room;
}

MemoryRoom MemoryRoom::now() {
  LimitReader reader;
  return of(reader.read());
}

const char* place_of(SystemLimit limit) {
  const WatchedLimit* const watched = find_watched(limit);
  return watched != nullptr ? watched->place : "";
}

DumpPlan plan_dump(const DumpSize& size, const MemoryRoom& room) {
  DumpPlan plan;
  const uint64_t file = size.tensors * kTensorInFile + size.allocations * kAllocationInFile + size.nodes * kNodeInFile;
  plan.rows_need = size.copy + kChunks + size.tensors * sizeof(uint64_t) + (size.file_in_memory ? file : 0);
  plan.rows = plan.rows_need <= room.for_rows;
  if (!plan.rows) return plan;
  uint64_t rest = room.usable - std::min(room.usable, plan.rows_need);
  plan.sizes = size.names && take(size.tensors * sizeof(python::TensorSize), rest);
  plan.graph = take(graph_needs(size.nodes, size.tensors), rest);
  // The facts and the report that is made from them.
  if (size.report) plan.facts = most(rest, size.tensors, size.allocations, sizeof(dump::TensorFacts) + kTensorInReport);
  return plan;
}

void LeftOut::add(const char* part, const MemoryRoom& room) {
  char reason[96];
  snprintf(reason, sizeof(reason), ": %s was left %s", ByteText(room.left).c_str(), place_of(room.limit));
  const std::string_view pieces[] = {length_ == 0 ? "without " : ", ", part, reason};
  if (length_ + pieces[0].size() + pieces[1].size() + sizeof(reason) > sizeof(text_)) return;
  for (const std::string_view piece : pieces) {
    memcpy(text_ + length_, piece.data(), piece.size());
    length_ += piece.size();
  }
  text_[length_] = 0;
  length_ -= pieces[2].size();  // the next part stands before the reason
}

uint64_t graph_needs(size_t nodes, size_t tensors) { return nodes == 0 ? 0 : nodes * kNode + tensors * kTensorInGraph; }

size_t most_in_report(uint64_t bytes, size_t tensors, size_t allocations) {
  return most(bytes, tensors, allocations, kTensorInReport);
}

}  // namespace tensorscope::collector
