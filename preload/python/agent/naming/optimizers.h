// Instances of torch.optim.Optimizer: how they are called, and which tensors they train.
//
// Context: agent.
#pragma once

#include <cstdint>
#include <vector>

#include "python/agent/graph/attributes.h"
#include "python/agent/graph/object_graph.h"
#include "python/agent/graph/object_kinds.h"
#include "python/agent/naming/chains.h"

namespace tensorscope::python::agent {

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

}  // namespace tensorscope::python::agent
