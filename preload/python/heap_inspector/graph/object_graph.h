// SPDX-License-Identifier: Apache-2.0
// The garbage collector's own view of the program's objects: each object that it tracks and its references, as
// tp_traverse reports. No object is changed, referred to or called.
//
// Objects are numbered from 0; references stand as numbers, those of one object together in the order in which
// tp_traverse reports them. What the collector does not know (str, int, functions' code, dicts of such) is left out,
// since it leads to no tensor. What gc.freeze() has hidden is listed as well (frozen_objects.h). numpy's
// arrays, pyarrow's objects, TorchScript's values and DLPack capsules, which the collector does not know, are added
// when something refers to them, with the tuples and dicts that it has left out since they hold nothing else.
//
// Where sizes are wanted, an object has those of what it alone refers to and the collector does not know, too; such of
// 4 KiB and more (bytes, texts) are objects of their own.
//
// Objects are looked into in the order of their numbers, from those that are given on, so that what is near them is
// known even where the limits end it all early. About 50 bytes an object and 4 a reference.
//
// Context: heap inspector. Valid while the GIL is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "python/heap_inspector/graph/frozen_objects.h"
#include "python/heap_inspector/graph/look_limits.h"
#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/graph/object_sizes.h"
#include "python/interpreter.h"
#include "support/page_array.h"

namespace tensorscope::python::heap_inspector {

inline constexpr uint32_t kNoObject = UINT32_MAX;

class ObjectGraph {
 public:
  // `kinds` null: kind() is not asked for; `sizes` null: nor is what objects take; `frozen` null: nothing is hidden.
  ObjectGraph(const Gil& gil, LookLimits& limits, Kinds* kinds = nullptr, ObjectSizes* sizes = nullptr,
              const FrozenObjects* frozen = nullptr)
      : gil_(gil), limits_(limits), kinds_(kinds), sizes_(sizes), frozen_(frozen) {}

  // `first`: where to begin, at something that the collector surely has in a list; the rest may be hidden from it, and
  // perhaps only the interpreter refers to it. False: a limit was reached, or the objects could not be listed
  // (`detail`, a literal, says so); what was found is kept.
  bool read(const std::vector<Object*>& first, const char*& detail);
  // Of those that no limit let be looked into: a tensor among them has its name all the same.
  void tell_other_kinds();

  size_t size() const { return nodes_.size(); }
  Object* object(uint32_t i) const { return nodes_[i].object; }
  Kind kind(uint32_t i) const { return i < kind_.size() ? kind_[i] : Kind::other; }
  uint32_t find(const Object* object) const;
  // Empty for an object that was not looked into any more.
  std::span<const uint32_t> references(uint32_t i) const {
    if (i + 1 >= first_.size()) return {};
    return {references_.data() + first_[i], size_t(first_[i + 1] - first_[i])};
  }
  // Whether all objects were looked into.
  bool complete() const { return complete_; }
  // References to it that no known object holds: C code's, running functions'.
  int64_t outside_references(uint32_t i) const;
  uint32_t inside_references(uint32_t i) const { return nodes_[i].inside; }
  // What each takes, in units of 16 bytes, with what it alone refers to and is no object of the graph; 0: not known.
  // For whoever adds them up, and only once.
  PageArray<uint32_t> take_units() { return std::move(units_); }
  // What C code has allocated for it, as far as that is known.
  void add_own(uint32_t i, uint64_t bytes);
  // Objects of C++ that are it, or that it refers to and are no objects of the graph; in the order of objects.
  struct CppObjects {
    uint32_t object, count;
  };
  const PageArray<CppObjects>& cpp_objects() const { return cpp_objects_; }

 private:
  struct Node {
    Object* object;
    uint32_t inside;  // references of known objects to it
    uint32_t all;     // its count of references
  };

  bool list(const char*& detail);
  bool add_listed(Object* object);
  bool list_frozen(const char*& detail);
  bool list_fits() const;
  bool add(Object* object);
  bool counts(Object* object) const;
  bool is_export(Object* object, Kind kind) const;
  bool leads_to_export(Object* container, int depth) const;
  bool grow();
  bool look_into_all();
  bool look_into(uint32_t i);
  int told(Object* child);
  Kind kind_of(Object* object) const { return kinds_ ? kinds_->of_type(type_of(object)) : Kind::other; }
  bool is_large(Object* object) const;
  bool has_only_text_keys(const Object* dict) const;
  uint64_t bytes_of_text_keys(Object* dict) const;
  bool note_text(Object* text, uint64_t& own) const;
  bool note_plain(Object* child, uint64_t& own, uint32_t& cpp_objects);
  uint64_t plain_bytes(Object* object, int depth, uint32_t& cpp_objects) const;
  bool is_small(Object* container, uint64_t& own, uint32_t& cpp_objects) const;
  bool note_own(uint32_t i, uint64_t bytes, uint32_t cpp_objects);
  static uint64_t hash(const Object* object);
  uint32_t slot_of(const Object* object) const;

  const Gil& gil_;
  LookLimits& limits_;
  Kinds* kinds_;
  ObjectSizes* sizes_;
  const FrozenObjects* frozen_;
  PageArray<Node> nodes_;
  PageArray<uint64_t> slots_;  // a power of two, at most three quarters full: part of the hash, and the number plus 1
  PageArray<Kind> kind_;       // as far as limits allowed
  PageArray<uint32_t> first_;
  PageArray<uint32_t> references_;
  PageArray<uint32_t> units_;
  PageArray<CppObjects> cpp_objects_;
  PageArray<Object*> told_;  // by one tp_traverse
  bool tracking_is_known_ = true;
  bool arrays_ = false;            // are followed
  bool member_is_listed_ = false;  // of what may be hidden: nothing is
  bool complete_ = false;
};

// Whether an object is kept by anything at all: one that only unreachable objects refer to is garbage. Empty where
// there was no memory to tell.
std::vector<bool> reachable_objects(const ObjectGraph& graph);

}  // namespace tensorscope::python::heap_inspector
