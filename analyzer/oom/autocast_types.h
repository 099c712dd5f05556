// SPDX-License-Identifier: Apache-2.0
// What float32 memory would take under torch.autocast, and what its copies would take.
//
// Types follow the edges of the autograd graph: products make 16 bits, softmax, norms and losses make float32,
// parameters are float32, all else has the widest type of what it was given. A tensor that was made in float32 is cast
// once for each product that it is given to, and the product saves the copy; one that was made in 16 bits is cast for
// each operation that computes in float32, which saves that copy. Where the type is not known, it is taken to be 16
// bits, so that what is said to be saved is an upper bound, or to be float32, so that it is what is saved at the least.
//
// Linear in the graph. Not thread-safe. Units: bytes.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "autograd/autocast_rules.h"
#include "memory/grouping.h"

namespace tensorscope::analyzer::oom {

enum class NotKnown : uint8_t { half, whole };  // a type that is not known is 16 bits, float32

class AutocastTypes {
 public:
  AutocastTypes(const View& view, Device device, NotKnown not_known);

  // Of a float32 storage that is no parameter, with the copies that are saved in its place or beside it.
  uint64_t bytes(const Item& item);
  // What is left of a storage that stays float32: copies of it that products save.
  uint64_t copies(const Item& item) const;
  // Of a parameter: one for all products of a forward pass. How many passes have a graph is not known: one, or as often
  // as one line has saved it.
  uint64_t weight_copies(const Item& item) const;
  // An operation of the graph made it, in its forward or backward pass.
  bool made_in_pass(const Item& item) const;
  // Notes the files that say which operations made what was asked about, where they could not be read.
  void note_unread() const;

 private:
  struct Saver {
    uint32_t node = kNone;
    uint64_t nbytes = 0;
    bool output = false;  // of this node
  };

  // How many nodes give a node something, and how many of them make float32, or may.
  struct Given {
    size_t nodes = 0, whole = 0;
    bool all_whole() const { return nodes != 0 && whole == nodes; }
  };

  CastRule rule_of(uint32_t node) const;
  void find_types();
  bool made_whole(uint32_t node) const;
  Given given(uint32_t node) const;
  bool first_alone(uint32_t node) const;
  bool given_more(uint32_t node) const;
  uint32_t maker(uint32_t tensor) const;
  Category category_of(const Item& item) const;
  bool held(const Item& item) const;
  bool may_be_fused(const Item& item) const;
  bool made_float32(const Item& item);
  uint32_t ran(const Item& item) const;
  bool gradient_is_float32(uint32_t node) const;
  bool makes_float32_at(uint32_t site);

  const View& view_;
  const bool cpu_, cautious_;
  std::unordered_map<uint64_t, uint32_t> node_at_;  // by address
  std::unordered_map<uint64_t, uint32_t> node_of_;  // by serial of Dump::nodes
  std::vector<CastRule> rules_;                     // by node
  std::vector<bool> whole_;                         // by node: it makes float32
  std::vector<std::vector<Saver>> savers_;          // by storage
  std::unordered_map<uint32_t, bool> sites_;        // that make float32
};

}  // namespace tensorscope::analyzer::oom
