// SPDX-License-Identifier: Apache-2.0
// An autograd graph with the words that people have for its parts: names of tensors, places and modules of nodes.
//
// Not thread-safe. Texts are as in the dump: cleaning is the renderer's.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/graph_collapse.h"
#include "autograd/graph_freed.h"
#include "autograd/graph_walk.h"
#include "dump/dump.h"
#include "symbols/places.h"

namespace tensorscope::analyzer {

// All names of a tensor, the best first.
using TensorNames = std::function<const std::vector<std::string>&(uint32_t tensor)>;

class GraphView {
 public:
  GraphView(const Dump& dump, Places& places, TensorNames names);

  const Dump& dump;
  const Graph& graph;
  const GraphWalk walk;
  const GraphTensors tensors;

  const std::vector<std::string>& names(uint32_t tensor) const { return names_(tensor); }
  const TensorNames& all_names() const { return names_; }
  // The best, "" if none. One that says only which slot holds the tensor is none here.
  std::string name(uint32_t tensor) const;
  std::string title(uint32_t tensor) const;       // "#1043 train.py: loss", "#1044"
  std::string created_at(uint32_t tensor) const;  // "train.py:30 main", "" if nobody saw it

  uint32_t site_of(uint32_t node) const;           // of the forward operation, 0: nobody saw it
  const std::string& module(uint32_t node) const;  // whose forward made it, "" if none
  std::string place(uint32_t node) const;          // "train.py:57 step", "" if nobody saw it
  const Place* place_of(uint32_t node) const;      // null: nobody saw it
  std::string freed_at(uint32_t node) const;       // see graph_freed.h
  std::vector<FreedNodes> freed_by_place(std::span<const uint32_t> nodes) const;
  // Resolves what place() of these nodes needs at once.
  void prefetch(std::span<const uint32_t> nodes) const;
  NodePlaces node_places(std::span<const uint32_t> nodes) const;
  // Returns what of the stacks that were read so far is missing.
  const UnreadFiles& unread() const { return places_.unread().files(); }

 private:
  Places& places_;
  TensorNames names_;
};

// Whether names and holders in Python are known; `all` in a program without Python, too.
enum class NamesKnown : uint8_t { none, some, all };
NamesKnown names_known(const Dump& dump);

// Tensors that are called `text`: "#1043", "1043", one of their names, or a name without what stands before it
// ("train.py: ") or behind it (" (local of step)"). By index.
std::vector<uint32_t> tensors_called(const Dump& dump, const TensorNames& names, const std::string& text);
// Names that hold `text`, at most `most`: for someone who mistyped.
std::vector<std::string> names_like(const Dump& dump, const TensorNames& names, const std::string& text, size_t most);

}  // namespace tensorscope::analyzer
