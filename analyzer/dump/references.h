// SPDX-License-Identifier: Apache-2.0
// What phase 2 of a dump found in Python: who refers to each tensor, as chains that a person would write.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dump/shared_text.h"
#include "tensorscope/rules/same_names.h"

namespace tensorscope::analyzer {

using rules::Beginning;

struct RunningCall {
  Beginning begin;
  std::string thread_name;  // "": Python's threading does not know it
};

struct Reference {
  uint32_t tensor = UINT32_MAX;  // index into Dump::tensors
  uint32_t node = UINT32_MAX;    // where the root is an autograd node: its number in the graph
  uint32_t steps = 0;
  uint8_t root = 0;              // format::ReferenceRoot
  uint8_t role = 0;              // format::ReferenceRole
  uint32_t shared = UINT32_MAX;  // place in References::shared of the nearest one on its chain
  std::string text;              // "history[1043]['loss']"
  SharedText scope;              // "train.py", "Block.forward"
  SharedText holder;             // type of the direct holder, "" for a variable
  Beginning begin;               // the running call or the object that the chain begins with
  SharedText which;              // "thread loader, call 2", "#3": where several holders have this name; else ""

  // One line: "train.py: history[1043]['loss']", "h (local of Block.forward)", "model.fc1.weight".
  std::string line() const;
  // The same with the type of the direct holder: "train.py: history[3] (list)"; "saved by ..." where a node holds it.
  std::string holder_line() const;
  rules::Reference view() const;
};

struct TensorObject {
  SharedText type_name;     // Python class
  uint32_t references = 0;  // all there are; the rows may be fewer
  uint8_t state = 0;        // format::WrapperState
  bool known = false;       // phase 2 looked
  bool optimized = false;   // in the param_groups of an optimizer
  bool trained = false;     // a torch.nn.Parameter
  uint64_t id = 0;          // Python's id(), 0: not known
  bool freed = false;       // before the search for names had ended: nothing is known of who held it
  uint8_t within = 0;       // format::ReferenceWithin: what a reference to it leads through
  SharedText within_text;   // that reference
};

struct NodeReference {
  uint32_t node = UINT32_MAX;
  uint8_t root = 0;
  std::string text, scope;
  Beginning begin;    // as Reference::begin
  std::string which;  // as Reference::which
  std::string line() const;
  rules::Reference view() const;
};

// A container of plain Python objects, by what goes away with it.
struct ObjectContainer {
  uint64_t bytes = 0, entries = 0;
  uint64_t cpp_objects = 0;  // objects of C++ that it has
  uint8_t root = 0;          // format::ReferenceRoot
  std::string text, scope;
  std::string type_name;   // its class
  std::string entry_type;  // "": it has no entries
  std::string cpp_type;    // class of one of these objects, "": there are none
  Beginning begin;         // as Reference::begin
  std::string which;       // as Reference::which
  std::string line() const;
  rules::Reference view() const;
};

// An object on reference chains that is reached in several ways: only what cuts all of them frees it.
struct SharedEntry {
  std::string text;               // the way that the references have: "index.timeline[3]"
  uint32_t above = UINT32_MAX;    // place in References::shared of the next one towards the root
  std::vector<Reference> others;  // the other ways; `tensor` is not set
};

struct References {
  bool present = false;  // the dump has them at all
  bool complete = false;
  std::string detail;  // why not
  uint64_t objects = 0, gil_ns = 0;
  uint8_t stopped_by = 0;      // format::NamesLimit
  uint64_t time_limit_ms = 0;  // of the time with Python's lock
  uint64_t memory_limit = 0, memory_taken = 0;
  uint64_t named = 0;                 // tensors whose references are known
  std::vector<TensorObject> tensors;  // parallel to Dump::tensors
  std::vector<uint32_t> first;        // rows of tensor i: [first[i], first[i + 1]); one longer than Dump::tensors
  std::vector<Reference> rows;        // shortest first
  std::vector<NodeReference> nodes;
  std::vector<RunningCall> calls;      // whose variables lead to tensors
  std::vector<std::string> profilers;  // of torch, that are on: "train.py: prof.profiler"
  bool has_containers = false;         // the dump has them at all
  std::string containers_detail;       // why not all are there; "": all were added up, and the largest are there
  std::vector<ObjectContainer> containers;
  std::vector<SharedEntry> shared;

  bool freed(uint32_t tensor) const { return present && tensors[tensor].freed; }
  std::span<const Reference> of(uint32_t tensor) const {
    return first.empty() ? std::span<const Reference>()
                         : std::span<const Reference>(rows).subspan(first[tensor], first[tensor + 1] - first[tensor]);
  }
};

}  // namespace tensorscope::analyzer
