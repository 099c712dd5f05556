// SPDX-License-Identifier: Apache-2.0
// Every torch.nn.Module and which registers which. A module is named by the module that registers it; one that no other
// registers, by whatever holds it; and where nothing with a name does, by its class and a number.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/graph/object_paths.h"
#include "python/heap_inspector/naming/chains.h"
#include "python/program_facts.h"

namespace tensorscope::python::heap_inspector {

class ModuleTree {
 public:
  ModuleTree(const Gil& gil, const ObjectGraph& graph, Attributes& attributes, LookLimits& limits);

  // From here on, reference chains to modules contain the modules that register them.
  void lead(ObjectPaths& paths) const;
  // Says which chains are wanted, and how modules are called that nothing with a name holds.
  void want(Chains& chains, const ObjectPaths& paths) const;
  // How parameters are called: for optimizers, whose state has them as keys. Of tied weights the name that comes first
  // among the tensor's own.
  void call_parameters(Chains& chains, const ObjectPaths& paths) const;
  // In the order of their addresses.
  void name(Chains& chains, const ObjectPaths& paths, std::vector<ModuleName>& names) const;

 private:
  struct Module {
    uint32_t object;
    std::vector<uint32_t> children;  // numbers of modules
  };
  std::string path(const Chain& chain) const;
  bool has_name(uint32_t object, const ObjectPaths& paths) const;

  const Gil& gil_;
  const ObjectGraph& graph_;
  Attributes& attributes_;
  LookLimits& limits_;
  std::vector<Module> modules_;
};

}  // namespace tensorscope::python::heap_inspector
