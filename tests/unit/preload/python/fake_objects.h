// SPDX-License-Identifier: Apache-2.0
// Objects as the agent sees them, without an interpreter: memory in the shape of CPython's objects, a type whose
// tp_traverse reports what a test says, and an Api that lists them as the garbage collector of CPython 3.12 does.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/type_fields.h"

namespace tensorscope::python::heap_inspector::testing {

// Without limits.
inline LookLimits& never() {
  static LookLimits limits = LookLimits::none();
  return limits;
}

class FakeObjects {
 public:
  FakeObjects() {
    write(168, uint64_t(type_flags::kCollected));
    write(184, Traverse([](Object* object, Visit visit, void* context) {
            for (Object* child : reinterpret_cast<Fields*>(object)->children) {
              ++told_;
              if (const int stop = visit(child, context)) return stop;
            }
            return 0;
          }));
    api_.series = 312;
    api_.PyExceptionClass_Name = [](Object*) { return "Fake"; };
    api_.PyType_IsSubtype = [](Object* type, Object* other) { return int(type == other); };
    api_.PyUnstable_GC_VisitObjects = [](Visit visit, void* context) {
      for (Whole& object : listing_->objects_) {
        if (!object.hidden && visit(object.address(), context) == 0) return;
      }
    };
  }

  // Numbered in the order of their making, which is that of the graph.
  uint32_t add(bool hidden = false) {
    objects_.push_back({{1, 0}, {0, reinterpret_cast<Object*>(type_), {}}, hidden});
    return uint32_t(objects_.size() - 1);
  }
  void add_many(uint32_t count) {
    while (count-- > 0) add();
  }
  void refer(uint32_t from, uint32_t to) {
    objects_[from].fields.children.push_back(object(to));
    objects_[to].fields.references++;
  }
  // By something that the collector does not know.
  void hold(uint32_t i) { objects_[i].fields.references++; }
  void hide_from_collector(uint32_t i) { objects_[i].collector[0] = 0; }

  Object* object(uint32_t i) { return objects_[i].address(); }
  Gil gil() { return Gil::held(api_); }
  // References that tp_traverse has told so far, of all such objects.
  static size_t told() { return told_; }
  bool read(ObjectGraph& graph, const char*& detail, const std::vector<Object*>& first = {}) {
    listing_ = this;
    return graph.read(first, detail);
  }

 private:
  struct Fields {  // PyObject, then what is the object's own
    int64_t references;
    Object* type;
    std::vector<Object*> children;
  };
  struct Whole {
    uintptr_t collector[2];  // PyGC_Head; not 0: in one of the collector's lists
    Fields fields;
    bool hidden;
    Object* address() { return reinterpret_cast<Object*>(&fields); }
  };
  static_assert(offsetof(Whole, fields) == 16);

  template <typename T>
  void write(size_t offset, T value) {
    memcpy(type_ + offset, &value, sizeof value);
  }

  inline static FakeObjects* listing_ = nullptr;
  inline static size_t told_ = 0;
  alignas(8) char type_[512] = {};
  std::deque<Whole> objects_;
  Api api_;
};

// Objects and the graph that is read of them.
struct Objects : FakeObjects {
  const ObjectGraph& read_whole() {
    const char* detail = "";
    graph.emplace_back(gil_, never());
    if (!read(graph.back(), detail)) abort();
    return graph.back();
  }
  const Gil gil_ = gil();
  std::deque<ObjectGraph> graph;
};

}  // namespace tensorscope::python::heap_inspector::testing
