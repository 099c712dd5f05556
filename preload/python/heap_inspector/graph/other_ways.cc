// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/other_ways.h"

#include <algorithm>
#include <tuple>

namespace tensorscope::python::heap_inspector {

namespace {

// In OtherWays::known_.
constexpr uint32_t kVisiting = 1, kAlone = 2, kFirstShared = 3;
constexpr int kLongestChain = 4096;

}  // namespace

uint32_t OtherWays::add(uint32_t object) {
  if (shared_.size() == kMaxShared) return kNone;
  if (!shared_.push({object, kNone, 0, 0})) return limits_.memory_ran_out(), kNone;
  return uint32_t(shared_.size() - 1);
}

// Up the chain to the first that is shared or known. What is between has the same answer.
uint32_t OtherWays::nearest(uint32_t object) {
  if (!keepers_.exact() || (known_.empty() && !known_.resize(graph_.size()))) return kNone;
  uint32_t number = kNone, below = kNone;
  bool first = true;
  for (uint32_t at = object; at != kNoObject && paths_.reached(at);) {
    chain_.clear();
    while (known_[at] == 0 && !is_shared(at) && !paths_.is_root(at) && !limits_.reached() && chain_.push(at)) {
      known_[at] = kVisiting;
      at = paths_.parent(at);
    }
    const bool fresh = known_[at] == 0 && is_shared(at);
    const uint32_t here = fresh ? add(at) : known_[at] >= kFirstShared ? known_[at] - kFirstShared : kNone;
    const uint32_t answer = here == kNone ? kAlone : kFirstShared + here;
    if (known_[at] == 0) known_[at] = answer;
    for (const uint32_t each : chain_) known_[each] = answer;
    if (below != kNone) shared_[below].above = here;
    if (first) number = here;
    first = false;
    if (!fresh || here == kNone) break;
    below = here;
    at = keepers_.keeper(at);
  }
  return number;
}

uint32_t OtherWays::number_of(uint32_t object) const {
  const uint32_t known = known_[object];
  return known >= kFirstShared && shared_[known - kFirstShared].object == object ? known - kFirstShared : kNone;
}

// What comes first on every way to `parent` behind the object's keeper; the keeper itself where that is the parent.
// The object: it keeps the parent. kNoObject: too far to be followed.
uint32_t OtherWays::way_of(uint32_t parent, uint32_t object) const {
  const uint32_t keeper = keepers_.keeper(object);
  uint32_t at = parent;
  for (int left = kLongestChain; left > 0; --left) {
    if (at == keeper || at == object || keepers_.keeper(at) == keeper || keepers_.keeper(at) == kNoObject) return at;
    at = keepers_.keeper(at);
  }
  return kNoObject;
}

bool OtherWays::is_on_chain(uint32_t object, uint32_t of) const {
  int left = kLongestChain;
  for (uint32_t at = of; at != object; at = paths_.parent(at)) {
    if (paths_.is_root(at)) return false;
    if (--left == 0) break;
  }
  return true;
}

// Those of one object together, the nearest to a root first.
bool OtherWays::find_parents(PageArray<Parent>& found) const {
  for (const Keepers::Edge& edge : keepers_.edges()) {
    if (limits_.reached()) return false;
    const uint32_t shared = number_of(edge.to);
    if (shared == kNone || edge.from == paths_.parent(edge.to)) continue;
    if (!found.push({shared, edge.from})) return limits_.memory_ran_out(), false;
  }
  const auto order = [this](const Parent& each) {
    return std::tuple(each.shared, paths_.depth(each.object), each.object);
  };
  std::sort(found.begin(), found.end(), [&](const Parent& a, const Parent& b) { return order(a) < order(b); });
  const auto same = [](const Parent& a, const Parent& b) { return a.shared == b.shared && a.object == b.object; };
  found.resize(size_t(std::unique(found.begin(), found.end(), same) - found.begin()));
  return !limits_.reached();
}

// Of one object: first a parent of each way, then the others. One whose chain leads through the object has no name that
// would be another.
bool OtherWays::list(std::span<const Parent> parents) {
  Shared& shared = shared_[parents.front().shared];
  shared.first = uint32_t(parents_.size());
  uint32_t ways[kMaxLooked + 1] = {way_of(paths_.parent(shared.object), shared.object)}, rest[kMaxLooked];
  size_t known = 1, left = 0;
  for (const Parent& parent : parents.first(std::min(parents.size(), kMaxLooked))) {
    if (limits_.reached()) return false;
    const uint32_t way = way_of(parent.object, shared.object);
    if (way == shared.object || way == kNoObject || is_on_chain(shared.object, parent.object)) continue;
    if (std::find(ways, ways + known, way) != ways + known) {
      rest[left++] = parent.object;
      continue;
    }
    ways[known++] = way;
    if (!parents_.push(parent.object)) return limits_.memory_ran_out(), false;
  }
  if (!parents_.append(rest, left)) return limits_.memory_ran_out(), false;
  parents_.resize(std::min(parents_.size(), shared.first + kMaxListed));
  shared.listed = uint32_t(parents_.size() - shared.first);
  return true;
}

bool OtherWays::find() {
  if (shared_.empty()) return true;
  PageArray<Parent> found;
  if (!find_parents(found)) return false;
  for (const Parent *first = found.begin(), *last = first; first != found.end(); first = last) {
    while (last != found.end() && last->shared == first->shared) ++last;
    if (!list({first, last})) return false;
  }
  return true;
}

}  // namespace tensorscope::python::heap_inspector
