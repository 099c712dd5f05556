// SPDX-License-Identifier: Apache-2.0
// Instances of torch.optim.Optimizer: how they are called, and which tensors they train.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <vector>

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/naming/chains.h"

namespace tensorscope::python::heap_inspector {

class Optimizers {
 public:
  Optimizers(const Gil& gil, const ObjectGraph& graph, Attributes& attributes, LookLimits& limits);

  // From here on, reference chains to what an optimizer keeps contain the optimizer.
  void lead(ObjectPaths& paths) const;
  // The only optimizer of its class is called by its class.
  void call(Chains& chains) const;
  bool trains(uint32_t tensor) const { return trained_[tensor]; }

 private:
  const Gil& gil_;
  const ObjectGraph& graph_;
  Attributes& attributes_;
  LookLimits& limits_;
  std::vector<uint32_t> optimizers_;
  std::vector<bool> trained_;
};

}  // namespace tensorscope::python::heap_inspector
