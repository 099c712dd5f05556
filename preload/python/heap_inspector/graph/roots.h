// SPDX-License-Identifier: Apache-2.0
// Roots of reference chains, the longest-lived first, so that an object has the same name whatever runs just
// now: globals of the main script, globals and classes of the program's own modules, variables of its running functions
// from the outermost on, globals and classes of libraries, variables of their running functions, context variables,
// what atexit keeps, autograd nodes, values that a running function is working with, what only the interpreter or C
// code holds, and garbage. A class that a function made, and that something keeps, is no root but that thing's; one
// that it makes again and again is its objects'.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/graph/object_paths.h"
#include "python/heap_inspector/naming/frame_locals.h"
#include "python/heap_inspector/rows/tensor_objects.h"
#include "support/function_ref.h"
#include "torch/graph/graph_seeds.h"

namespace tensorscope::python::heap_inspector {

// A tensor that a running function's variable refers to.
struct LocalReference {
  uint32_t object;
  bool temporary;  // no variable: a value of the evaluation that is going on
  std::string name, scope;
  uint32_t call;  // the frame's number plus 1
};

// A variable of the program's own code: of a module, or of a running function.
struct OwnVariable {
  Object* value;
  std::string name, scope;
  format::ReferenceRoot root;
  uint32_t call;  // as LocalReference::call; 0: of a module
};

class Roots {
 public:
  Roots(const Gil& gil, const ObjectGraph& graph, const TensorFields& tensors, Functions& functions, ObjectPaths& paths,
        const std::vector<Frame>& running, const torch::GraphSeeds* seeds, LookLimits& limits)
      : gil_(gil),
        graph_(graph),
        tensors_(tensors),
        functions_(functions),
        paths_(paths),
        frames_(running),
        seeds_(seeds),
        limits_(limits) {}

  // Adds all roots. `whole`: every reference and every variable is known, so that what holds an object from
  // outside can be determined. False: a limit was
  // reached.
  bool run(const std::vector<bool>& reachable, bool whole);

  const std::vector<LocalReference>& locals() const { return locals_; }

  // In the order of roots. After run().
  void each_own_variable(FunctionRef<void(const OwnVariable&)> f) const;

 private:
  struct PythonModule {
    Object* globals;
    std::string name;
    bool library;
  };

  struct PythonClass {
    uint32_t object;
    std::string module;
    bool library;
    bool in_namespace;     // of a module, or of a class that is in one
    bool several = false;  // of one name, and in none: a function makes one at each call
  };

  void find_modules();
  void close_namespaces(const std::vector<bool>& reachable);
  bool main_globals();
  bool running_functions_of(bool library);
  bool module_globals_of(bool library);
  std::vector<bool> types_in_namespaces() const;
  void find_classes(const std::vector<bool>& reachable);
  bool classes_of(bool library);
  bool held_by_c_code(uint32_t object) const;
  bool contexts();
  bool kept_for_exit();
  bool autograd_nodes();
  bool evaluations();
  bool held_outside();
  bool garbage(const std::vector<bool>& reachable);
  void add(uint32_t object, format::ReferenceRoot kind, std::string name, std::string scope, uint32_t node = UINT32_MAX,
           uint32_t call = 0);
  uint32_t find(const void* object) const;
  uint32_t object_of(const torch::GraphSeeds::Node& node) const;
  bool is_ctx(uint32_t object) const;

  const Gil& gil_;
  const ObjectGraph& graph_;
  const TensorFields& tensors_;
  Functions& functions_;
  ObjectPaths& paths_;
  const std::vector<Frame>& frames_;
  const torch::GraphSeeds* seeds_;
  LookLimits& limits_;
  std::vector<PythonModule> modules_;
  std::vector<PythonClass> classes_;
  std::vector<LocalReference> locals_;
  std::string main_scope_;
};

}  // namespace tensorscope::python::heap_inspector
