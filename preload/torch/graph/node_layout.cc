// SPDX-License-Identifier: Apache-2.0
#include "torch/graph/node_layout.h"

#include <algorithm>

#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kMaxEdgesOffset = 256;
constexpr size_t kMaxNodeBytes = 1024;
constexpr uint32_t kMaxInputs = 1 << 16;
constexpr uint32_t kEdgeSizes[] = {16, 24};

// What can be read of an object of unknown size: it ends at the latest where the next page is missing.
class ObjectReads {
 public:
  void add(uint64_t address, size_t size) {
    const size_t in_page = std::min<size_t>(size, kPage - address % kPage);
    first_.push_back(reads_.add(address, in_page));
    reads_.add(address + in_page, size - in_page);
  }
  bool run() { return reads_.run(); }
  size_t words(size_t object) const {
    const size_t piece = first_[object];
    if (!reads_.ok(piece)) return 0;
    return (reads_.size(piece) + (reads_.ok(piece + 1) ? reads_.size(piece + 1) : 0)) / 8;
  }
  // The second piece lies behind the first.
  uint64_t word(size_t object, size_t i) const { return reads_.word(first_[object], i * 8); }

 private:
  SafeReads reads_;
  std::vector<size_t> first_;
};

// Where nodes have their edges, by votes: each place of a node that looks like a vector of edges of one size is a
// claim, and what the elements point to decides about it.
class EdgeSearch {
 public:
  explicit EdgeSearch(ObjectClasses& classes) : classes_(classes) {}

  // False: the system does not allow reading.
  bool read(const std::vector<uint64_t>& nodes) {
    ObjectReads objects;
    for (uint64_t node : nodes) objects.add(node, kMaxEdgesOffset + 24);
    if (!objects.run()) return false;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (objects.words(n) != 0 && classes_.derives_from(objects.word(n, 0), kNodeClass)) claim(objects, n);
    }
    return edges_.run() && count();
  }
  bool saw_nodes() const { return seen_ > 0; }
  // Empty where no place explains the nodes, or two do.
  NodeLayout best() const;

 private:
  static constexpr size_t kEdgesLookedAt = 4;
  struct Claim {
    size_t offset;
    size_t kind;  // of kEdgeSizes
    size_t count;
    size_t piece;
  };
  struct Votes {
    size_t yes = 0, no = 0;
  };

  void claim(const ObjectReads& objects, size_t node);
  bool count();
  bool is_edge(const Claim& claim, size_t element, uint64_t target, uint64_t vtable) const;

  ObjectClasses& classes_;
  std::vector<Claim> claims_;
  SafeReads edges_;
  Votes votes_[kMaxEdgesOffset / 8][std::size(kEdgeSizes)];
  size_t seen_ = 0;
};

void EdgeSearch::claim(const ObjectReads& objects, size_t node) {
  ++seen_;
  const size_t words = objects.words(node);
  for (size_t i = 1; i + 2 < words && i < kMaxEdgesOffset / 8; ++i) {
    const VectorWords v = {objects.word(node, i), objects.word(node, i + 1), objects.word(node, i + 2)};
    if (!v.plausible() || !can_be_pointer(v.begin) || v.bytes() == 0 || v.bytes() > uint64_t{kMaxInputs} * 24) continue;
    for (size_t kind = 0; kind < std::size(kEdgeSizes); ++kind) {
      const uint32_t size = kEdgeSizes[kind];
      if (v.bytes() % size != 0) {
        ++votes_[i][kind].no;
        continue;
      }
      const size_t count = std::min<size_t>(v.bytes() / size, kEdgesLookedAt);
      claims_.push_back({i, kind, count, edges_.add(v.begin, count * size)});
    }
  }
}

bool EdgeSearch::is_edge(const Claim& claim, size_t element, uint64_t target, uint64_t vtable) const {
  const size_t at = element * kEdgeSizes[claim.kind];
  const size_t number = kEdgeSizes[claim.kind] - 8;
  if (uint32_t(edges_.word(claim.piece, at + number)) >= kMaxInputs) return false;
  if (number == 16) {  // a shared_ptr has a control block where it has an object
    const uint64_t control = edges_.word(claim.piece, at + 8);
    if ((control != 0) != (target != 0) || !can_be_pointer(control)) return false;
  }
  return target == 0 || classes_.derives_from(vtable, kNodeClass);
}

bool EdgeSearch::count() {
  std::vector<uint64_t> targets;
  for (const Claim& claim : claims_) {
    for (size_t e = 0; e < claim.count; ++e) {
      targets.push_back(edges_.ok(claim.piece) ? edges_.word(claim.piece, e * kEdgeSizes[claim.kind]) : 0);
    }
  }
  std::vector<uint64_t> vtables(targets.size());
  if (!read_words_safely(targets.data(), vtables.data(), targets.size())) return false;
  size_t next = 0;
  for (const Claim& claim : claims_) {
    bool right = edges_.ok(claim.piece), telling = false;
    for (size_t e = 0; e < claim.count; ++e, ++next) {
      right = right && is_edge(claim, e, targets[next], vtables[next]);
      telling = telling || targets[next] != 0;
    }
    Votes& vote = votes_[claim.offset][claim.kind];
    vote.no += !right;
    vote.yes += right && telling;
  }
  return true;
}

NodeLayout EdgeSearch::best() const {
  // A node that dies while it is read may say nonsense; most do not.
  constexpr size_t kTolerance = 8;
  NodeLayout layout;
  size_t best = 0, second = 0;
  for (size_t i = 1; i < kMaxEdgesOffset / 8; ++i) {
    for (size_t kind = 0; kind < std::size(kEdgeSizes); ++kind) {
      const Votes& vote = votes_[i][kind];
      if (vote.yes == 0 || vote.no * kTolerance > vote.yes) continue;
      if (vote.yes > best) {
        second = best;
        best = vote.yes;
        layout.edges = uint32_t(i * 8);
        layout.edge_size = kEdgeSizes[kind];
      } else {
        second = std::max(second, vote.yes);
      }
    }
  }
  return best == 0 || second * 2 > best ? NodeLayout() : layout;
}

// A word of an AccumulateGrad that is the address of a tensor.
struct LeafClaim {
  size_t offset;
  uint64_t tensor;
  uint64_t node;
};

// A node has room for metadata that was never written: what lies there may be the address of a tensor of long ago. The
// leaf knows its accumulator (AutogradMeta::grad_accumulator_, torch/csrc/autograd/variable.h; before it: vtable,
// string, tensor, pointer to a node).
bool count_leaves(const std::vector<LeafClaim>& claims, size_t* votes) {
  constexpr size_t kImplWords = 8, kMetaBytes = 96;
  SafeReads impls, metas;
  for (const LeafClaim& claim : claims) impls.add(claim.tensor, kImplWords * 8);
  if (!impls.run()) return false;
  for (size_t i = 0; i < claims.size(); ++i) {
    for (size_t w = 0; w < kImplWords; ++w) {
      const uint64_t word = impls.ok(i) ? impls.word(i, w * 8) : 0;
      metas.add(word, can_be_pointer(word) && word != 0 ? kMetaBytes : 0);
    }
  }
  if (!metas.run()) return false;
  for (size_t i = 0; i < claims.size(); ++i) {
    bool known = false;
    for (size_t piece = i * kImplWords; piece < (i + 1) * kImplWords && !known; ++piece) {
      for (size_t at = 0; metas.ok(piece) && at < kMetaBytes; at += 8) {
        known = known || metas.word(piece, at) == claims[i].node;
      }
    }
    votes[claims[i].offset] += known;
  }
  return true;
}

}  // namespace

Status find_edges(const std::vector<uint64_t>& nodes, ObjectClasses& classes, NodeLayout& layout) {
  EdgeSearch search(classes);
  if (!search.read(nodes)) return Status::failed("the system does not permit safe reads of the nodes' memory");
  layout = search.best();
  if (layout.edges != 0) return Status::done();
  return Status::failed(search.saw_nodes() ? "the layout of this torch's autograd nodes is unknown"
                                           : "the autograd nodes were freed before they could be read");
}

bool find_size(const std::vector<uint64_t>& accumulators, const AddressMap& tensors, NodeLayout& layout) {
  ObjectReads objects;
  for (uint64_t node : accumulators) objects.add(node, kMaxNodeBytes);
  if (!objects.run()) return false;
  size_t sequence_votes[kMaxEdgesOffset / 8] = {};
  std::vector<LeafClaim> claims;
  for (size_t n = 0; n < accumulators.size(); ++n) {
    const size_t words = objects.words(n);
    for (size_t i = 1; i < words; ++i) {
      const uint64_t word = objects.word(n, i);
      if (i < layout.edges / 8) sequence_votes[i] += word == UINT64_MAX;
      if (i >= layout.hooks() / 8 && tensors.find(word) != AddressMap::kNone)
        claims.push_back({i, word, accumulators[n]});
    }
  }
  size_t leaf_votes[kMaxNodeBytes / 8] = {};
  if (!count_leaves(claims, leaf_votes)) return false;
  const auto leaf = std::max_element(std::begin(leaf_votes), std::end(leaf_votes));
  const auto sequence = std::max_element(std::begin(sequence_votes), std::end(sequence_votes));
  if (*sequence * 2 > accumulators.size()) layout.sequence = uint32_t(sequence - sequence_votes) * 8;
  if (*leaf * 2 > accumulators.size()) layout.size = uint32_t(leaf - leaf_votes) * 8;
  return layout.size != 0;
}

}  // namespace tensorscope::torch
