// SPDX-License-Identifier: Apache-2.0
// Writes what was found of a tensor's Python object: its type, who refers to it, and by which reference chains.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "python/heap_inspector/graph/look_limits.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/graph/object_paths.h"
#include "python/heap_inspector/graph/roots.h"
#include "python/heap_inspector/naming/beginnings.h"
#include "python/heap_inspector/naming/chains.h"
#include "python/heap_inspector/naming/given_names.h"
#include "python/heap_inspector/naming/optimizers.h"
#include "python/heap_inspector/rows/script_values.h"
#include "python/heap_inspector/rows/tensor_objects.h"
#include "python/references.h"

namespace tensorscope::python::heap_inspector {

inline constexpr size_t kMaxReferenceRows = 16;    // of one tensor
inline constexpr size_t kMoreReferenceRows = 240;  // of one with more holders, and of all such tensors together:
inline constexpr size_t kMoreRowsOfAll = 1 << 16;

using LocalsByObject = std::unordered_map<uint32_t, std::vector<const LocalReference*>>;

// What was found before tensors are named.
struct FoundObjects {
  const ObjectGraph& graph;
  bool complete;                       // all that may hold a tensor was seen
  const std::vector<bool>& reachable;  // by object
  const ObjectPaths& paths;
  const LocalsByObject& locals;
  Beginnings& beginnings;
  const TensorObjects& tensors;
  const Optimizers& optimizers;
  GivenNames& given;
  ScriptValues& script;
};

class ReferenceRows {
 public:
  // A holder of a tensor, the object that it refers to (the tensor, or what stands for it) and the number of the
  // question that chains answer.
  struct Holder {
    uint32_t holder, object, answer;
  };

  ReferenceRows(const Gil& gil, const KnownClasses& classes, const FoundObjects& found, Chains& chains,
                LookLimits& limits, References& out)
      : gil_(gil), classes_(classes), found_(found), chains_(chains), limits_(limits), out_(out) {}

  // All of a tensor's rows or none. Nothing is written of a tensor of which nothing was found where not all
  // that may hold it was seen. False: a limit was reached.
  bool write(const TensorObjects::Tensor& tensor, std::span<const Holder> holders);
  // Names of tensors that have no Python object, or none any more.
  void write_without_object();
  // The object that has the reference of each row so far; kNoObject: a variable or a name.
  const PageArray<uint32_t>& holders() const { return holders_; }

 private:
  struct TypeFacts {
    uint32_t name;
    bool parameter;
  };
  TypeFacts facts_of(Object* type);
  bool write_all(const TensorObjects::Tensor& tensor, std::span<const Holder> holders);
  void write_references(const TensorObjects::Tensor& tensor, std::span<const Holder> holders,
                        std::span<const LocalReference* const> locals);
  void write_reference(const TensorObjects::Tensor& tensor, const Holder& holder);
  void write_given_names();
  void write_script(std::span<ScriptValues::Held> held);
  void write_given(uint64_t serial, const std::vector<GivenName>& names);
  // What a row says, with texts that are not in the dump yet.
  struct NewRow {
    uint64_t tensor;  // its serial
    std::string_view text;
    std::string_view scope = "";
    const char* holder = "";  // its class; "": a variable
    uint32_t node = UINT32_MAX;
    uint32_t steps = 0;
    format::ReferenceRoot root;
    format::ReferenceRole role = format::ReferenceRole::plain;
    uint32_t call = 0;
    uint32_t begins_at = kNoObject;
    uint32_t object = kNoObject;  // that refers to it
  };
  void add(const NewRow& row);
  void sort_by_steps(size_t first);
  format::WrapperState state(const TensorObjects::Tensor& tensor, size_t others) const;
  std::string_view own_name(uint32_t tensor) const;
  bool too_much();

  const Gil& gil_;
  const KnownClasses& classes_;
  const FoundObjects found_;
  Chains& chains_;
  LookLimits& limits_;
  References& out_;
  PageArray<uint32_t> holders_;
  std::unordered_map<const Object*, TypeFacts> types_;
};

}  // namespace tensorscope::python::heap_inspector
