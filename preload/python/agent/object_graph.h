// The collector of garbage's own view of the program's objects: each that it knows of, and which refers to which, as
// tp_traverse tells. No object is changed, referred to or called.
//
// Objects are numbered from 0; references stand as numbers, those of one object together in the order in which
// tp_traverse tells them. What the collector does not know (str, int, functions' code, dicts of such) is left out,
// since it leads to no tensor. What gc.freeze() has hidden is added when something refers to it.
//
// Context: agent. Valid while the GIL is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "python/gil_thread.h"
#include "python/interpreter.h"

namespace tensorscope::python::agent {

inline constexpr uint32_t kNoObject = UINT32_MAX;

class ObjectGraph {
 public:
  ObjectGraph(const Gil& gil, Deadline deadline) : gil_(gil), deadline_(deadline) {}

  // `also`: objects that may be hidden from the list, and that perhaps only the interpreter refers to. False: the time
  // or memory was up, or the objects could not be listed (`detail`, a literal, says so); what was found is kept.
  bool read(const std::vector<Object*>& also, const char*& detail);

  size_t size() const { return objects_.size(); }
  Object* object(uint32_t i) const { return objects_[i]; }
  uint32_t find(const Object* object) const;
  // Empty for an object that was not looked into any more.
  std::span<const uint32_t> references(uint32_t i) const {
    if (i + 1 >= first_.size()) return {};
    return {references_.data() + first_[i], size_t(first_[i + 1] - first_[i])};
  }
  size_t reference_count() const { return references_.size(); }
  // Whether all objects were looked into.
  bool complete() const { return first_.size() == objects_.size() + 1; }
  // References to it that no known object holds: C code's, running functions'.
  int64_t outside_references(uint32_t i) const;
  uint32_t inside_references(uint32_t i) const { return inside_[i]; }

 private:
  struct Slot {
    const Object* object = nullptr;
    uint32_t index = 0;
  };

  bool list(const char*& detail);
  bool add(Object* object);
  bool grow();
  bool look_into(const char*& detail);
  int told(Object* child);
  static uint64_t hash(const Object* object);
  Slot& slot_of(const Object* object);

  const Gil& gil_;
  Deadline deadline_;
  std::vector<Object*> objects_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t mask_ = 0;
  std::vector<uint32_t> inside_;
  std::vector<uint64_t> first_;
  std::vector<uint32_t> references_;
  std::vector<Object*> told_;  // by one tp_traverse
  bool memory_lasted_ = true;
  bool tracking_is_known_ = true;
};

// Whether an object is kept by anything at all: one that only unreachable objects refer to is garbage.
std::vector<bool> reachable_objects(const ObjectGraph& graph);

}  // namespace tensorscope::python::agent
