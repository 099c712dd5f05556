// A breadth-first search from named objects through lists, tuples, dicts and the attributes of plain instances, for
// objects that somebody wants a name for. Follows references as the garbage collector does, so it runs no code of
// theirs and makes no instance's __dict__ but those on the way to something wanted.
//
// Context: agent. All references are borrowed.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include "python/gil_thread.h"
#include "python/interpreter.h"

namespace tensorscope::python::agent {

class HolderSearch {
 public:
  HolderSearch(const Gil& gil, Deadline deadline);

  // Instances of this class are neither looked into nor counted (tensors). May be null.
  void leave_out(Object* type) { left_out_ = type; }

  void add_seed(std::string name, Object* object);

  // Calls found(object, name) for each object reached for which wanted(object) is true; it is not looked into. False:
  // the time was up, or the limit of references was reached.
  template <typename Wanted, typename Found>
  bool run(Wanted wanted, Found found) {
    for (size_t i = 0; i < nodes_.size() && !exhausted_; ++i) {
      children_.clear();
      expand(nodes_[i].object);
      for (Object* child : children_) {
        if (wanted(child)) {
          found(child, name_of(i) + label(i, child));
        } else if (nodes_[i].depth < kMaxDepth) {
          add(child, i);
        }
      }
    }
    return !exhausted_;
  }

 private:
  static constexpr int kMaxDepth = 6;  // an instance and its __dict__ count as two
  static constexpr size_t kMaxReferences = 2'000'000;

  struct Node {
    Object* object;
    size_t parent;  // of a seed: the index of its name
    int depth;
  };

  void add(Object* object, size_t parent);
  bool can_hold(Object* object) const;
  void expand(Object* object);
  bool count();
  std::string name_of(size_t node);
  std::string label(size_t parent, Object* child);
  Object* own_dict(Object* instance);

  const Gil& gil_;
  Deadline deadline_;
  Object* left_out_ = nullptr;
  std::vector<std::string> seeds_;
  std::vector<Node> nodes_;
  std::unordered_set<const Object*> seen_;
  std::vector<Object*> children_;
  size_t references_ = 0;
  bool exhausted_ = false;
};

}  // namespace tensorscope::python::agent
