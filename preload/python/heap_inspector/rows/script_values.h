// SPDX-License-Identifier: Apache-2.0
// Tensors that TorchScript's values hold (torch/ivalues.h) to which Python refers: a scripted module's attributes,
// lists and dicts, and what a future came to; and the tensor of a SavedTensor.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <span>

#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_paths.h"
#include "python/heap_inspector/naming/chains.h"
#include "python/text_pool.h"
#include "support/page_array.h"
#include "torch/ivalues.h"

namespace tensorscope::python::heap_inspector {

class ScriptValues {
 public:
  // A tensor that an object of Kind::script holds. The object has its chain (Chains::of).
  struct Held {
    uint64_t serial;
    uint32_t object;
    uint32_t text;  // what follows the object's name
    torch::IValues::Holder holder;
    torch::IValues::Role role;
    bool written;
  };

  ScriptValues(const ObjectGraph& graph, const ObjectPaths& paths, Chains& chains, LookLimits& limits)
      : graph_(graph), paths_(paths), chains_(chains), limits_(limits) {}

  // Of tensors with a serial up to `newest`.
  void read(uint64_t newest);

  // Those of one tensor; and all, by tensor.
  std::span<Held> of(uint64_t serial);
  std::span<Held> all() { return {held_.begin(), held_.end()}; }
  std::string_view text(const Held& held) const { return texts_[held.text]; }

 private:
  struct Value {
    uint32_t object;
    uint64_t container;  // 0: refers to a tensor itself
    uint64_t tensor;
  };
  bool find(torch::IValues& values);

  const ObjectGraph& graph_;
  const ObjectPaths& paths_;
  Chains& chains_;
  LookLimits& limits_;
  PageArray<Value> values_;  // the nearest first
  PageArray<Held> held_;
  TextPool texts_;
};

}  // namespace tensorscope::python::heap_inspector
