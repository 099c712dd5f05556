// SPDX-License-Identifier: Apache-2.0
// What would go away if some tensors or graph nodes were freed: everything that can be reached from them and from
// no other root.
//
// Roots are what Python refers to, what nothing known refers to (held by something in C++), what nobody looked at, and
// nodes that a Python object stands for. From a tensor the way leads to its graph, its gradient and, for a view, to the
// base that only views keep; from a node to the next nodes, to what it saved and to what its Python object holds.
// Without phase 2 of a dump nobody knows what Python holds: known() is false, and nothing should be concluded.
//
// Linear in tensors, references and graph, for the class and for each question. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "dump/dump.h"
#include "dump/references.h"
#include "memory/accounting.h"

namespace tensorscope::analyzer {

// Whether this reference keeps its tensor alive by itself, and is not a mere name or a link of the graph.
bool holds(const Reference& reference);
// The same, but a cycle that waits for the garbage collector keeps only what nothing else holds.
bool keeps(const References& all, const Reference& reference);
// Whether a tensor of the dump is in this slot, and not freed.
bool holds(const SavedSlot& slot);

struct Retained {
  std::vector<uint32_t> tensors;  // those asked for included
  std::vector<uint32_t> nodes;
  uint64_t bytes = 0;  // of storages all of whose tensors go away, as accounts count them
};

class Retention {
 public:
  Retention(const Dump& dump, const Accounts& accounts);

  bool known() const { return dump_.references.present; }
  // kNoNode: it came out of no live node.
  uint32_t node_of(uint32_t tensor) const { return node_of_[tensor]; }
  // The nodes that these tensors came out of.
  std::vector<uint32_t> nodes_of(std::span<const uint32_t> tensors) const;
  // The AccumulateGrad node of the leaf that this tensor was cast from; kNoNode: it came out of no cast of a leaf.
  uint32_t leaf_of_cast(uint32_t tensor) const;
  // Whether the search for names got to it.
  bool looked_at(uint32_t tensor) const;
  // What holds it may not have been seen: neither Python nor the graph was looked through to its end.
  bool not_known(uint32_t tensor) const { return !looked_at(tensor) || roots_[tensor] == Root::unknown; }
  // Held by nothing that is known: neither Python, nor a node, nor another tensor.
  bool cpp_only(uint32_t tensor) const { return roots_[tensor] == Root::cpp; }
  // Its views hold it as their base, and nothing else does.
  bool is_only_a_base(uint32_t tensor) const { return mere_bases_[tensor]; }

  // What only these tensors keep (none of them being held any more).
  Retained only_by(std::span<const uint32_t> tensors, std::span<const uint32_t> nodes = {}) const;
  // What these tensors keep without a graph: they themselves, their gradients, bases and parts.
  std::vector<uint32_t> without_graph(std::span<const uint32_t> tensors) const;
  // What goes with these gradients where their leaves drop them.
  Retained only_by_gradients(std::span<const uint32_t> gradients) const;
  // Gradients that have a graph of their own, as backward(create_graph=True) makes them; in the order of their leaves.
  std::vector<uint32_t> gradients_with_graph() const;
  // What no root leads to: it refers to itself in a circle.
  Retained unrooted() const;
  // Where the way goes on from a tensor or a node.
  struct Link {
    enum class Kind : uint8_t { grad_fn, gradient, base, part, next, saved, python } kind;
    bool to_node = false;
    uint32_t to = kNone;
  };
  std::vector<Link> links_of_tensor(uint32_t tensor) const;
  std::vector<Link> links_of_node(uint32_t node) const;
  // Nodes that can be reached from here, those given included; AccumulateGrad is left out.
  std::vector<uint32_t> nodes_below(std::span<const uint32_t> nodes) const;
  bool accumulates(uint32_t node) const;
  // Tensors that these nodes hold: in slots that are not freed, and through their Python objects.
  std::vector<uint32_t> saved_by(std::span<const uint32_t> nodes) const;

 private:
  enum class Root : uint8_t { none, python, cpp, unknown };
  struct Marks {
    std::vector<bool> tensors, nodes;
  };
  void link();
  void find_roots();
  uint64_t bytes_of(const std::vector<uint32_t>& tensors) const;
  template <typename Take>
  void each_link_of_tensor(uint32_t tensor, Take take) const;
  template <typename Take>
  void each_link_of_node(uint32_t node, Take take) const;
  Marks no_marks() const { return {std::vector<bool>(roots_.size()), std::vector<bool>(node_roots_.size())}; }
  // What roots lead to, but for those that are let go.
  Marks from_roots(const Marks& let_go, const std::vector<bool>* dropped = nullptr) const;
  // `dropped`: gradients, by tensor, to which no leaf leads; null: none.
  void mark(Marks& marks, std::vector<uint32_t> tensors, std::vector<uint32_t> nodes, Retained* found,
            const std::vector<bool>* dropped = nullptr) const;

  const Dump& dump_;
  const Accounts& accounts_;
  std::vector<uint32_t> node_of_, gradient_, base_;            // by tensor
  std::unordered_map<uint32_t, std::vector<uint32_t>> parts_;  // by owner
  std::vector<std::vector<uint32_t>> python_saved_;  // by node: what its Python object holds; empty: none has any
  std::vector<Root> roots_;                          // by tensor
  std::vector<bool> node_roots_, mere_bases_;
};

}  // namespace tensorscope::analyzer
