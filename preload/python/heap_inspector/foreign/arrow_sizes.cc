// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/foreign/arrow_sizes.h"

#include <algorithm>
#include <unordered_set>

#include "python/heap_inspector/foreign/arrow_memory.h"
#include "python/heap_inspector/foreign/numpy_arrays.h"

namespace tensorscope::python::heap_inspector {

namespace {

constexpr size_t kMostAsked = 4096;
constexpr uint32_t kStepsOfAnObject = 64;  // by what it costs

struct KnownRange {
  uint64_t first, end;
};

// What tensors and arrays have of memory, by address. False: there was no memory.
bool known_memory(const TensorSizes* tensors, const ObjectGraph& graph, PageArray<KnownRange>& known) {
  for (size_t i = 0; tensors && i < tensors->size(); ++i) {
    const TensorSize& size = (*tensors)[i];
    if (size.bytes > 0 && !known.push({size.base, size.base + size.bytes})) return false;
  }
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) != Kind::array) continue;
    const uint64_t bytes = own_memory_of(graph.object(i));
    const uint64_t address = address_of_memory(graph.object(i), Kind::array);
    if (bytes > 0 && !known.push({address, address + bytes})) return false;
  }
  std::sort(known.begin(), known.end(), [](const KnownRange& a, const KnownRange& b) { return a.first < b.first; });
  return true;
}

bool is_in(const PageArray<KnownRange>& known, uint64_t address) {
  const KnownRange* after =
      std::upper_bound(known.begin(), known.end(), address,
                       [](uint64_t wanted, const KnownRange& range) { return wanted < range.first; });
  return after != known.begin() && address < (after - 1)->end;
}

}  // namespace

bool add_arrow_memory(const Gil& gil, const TensorSizes* tensors, ObjectGraph& graph, LookLimits& limits) {
  std::vector<uint32_t> objects;
  for (uint32_t i = 0; i < graph.size() && objects.size() <= kMostAsked; ++i) {
    if (graph.kind(i) == Kind::arrow) objects.push_back(i);
  }
  if (objects.empty()) return true;
  PageArray<KnownRange> known;
  if (!known_memory(tensors, graph, known)) return limits.memory_ran_out(), false;
  ArrowMemory arrow(gil, limits);
  std::unordered_set<uint64_t> seen;
  for (const uint32_t object : objects) {
    if (limits.reached(kStepsOfAnObject)) return false;
    uint64_t bytes = 0;
    for (const ArrowMemory::Piece& piece : arrow.pieces(graph.object(object))) {
      if (!is_in(known, piece.address) && seen.insert(piece.address).second) bytes += piece.size;
    }
    graph.add_own(object, bytes);
  }
  return objects.size() <= kMostAsked;
}

}  // namespace tensorscope::python::heap_inspector
