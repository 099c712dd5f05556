// SPDX-License-Identifier: Apache-2.0
// Python's objects that stand for tensors, and who refers to each: those that keep the most alive come first, and of
// them those with the shortest chain.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <span>

#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_paths.h"
#include "python/references.h"

namespace tensorscope::python::heap_inspector {

// Where Python's objects have their TensorImpl.
class TensorFields {
 public:
  // By the tensors that the table knows.
  explicit TensorFields(const ObjectGraph& graph);
  // By what stands in the objects, where the table knows none yet.
  static TensorFields by_shape(const ObjectGraph& graph);
  const void* impl(const Object* object) const;
  // Whether one reference to the Python object is C++'s.
  bool cpp_keeps(const Object* object) const;

 private:
  explicit TensorFields(ptrdiff_t impl_field) : impl_field_(impl_field) {}
  ptrdiff_t impl_field_;
};

class TensorObjects {
 public:
  struct Tensor {
    uint32_t object;  // a DLPack capsule where it has no other
    uint32_t depth;   // of its shortest chain; UINT32_MAX: none
    uint64_t serial;
    uint64_t bytes;            // of its storage; 0 where that is not known
    uint32_t first_holder;     // among all tensors' holders
    uint32_t holders : 31;     // objects, one for each reference
    uint32_t kept_by_cpp : 1;  // one reference to the Python object is C++'s
  };

  // Those that the table of live tensors knows with a serial up to `newest`. `sizes` may be null.
  TensorObjects(const Gil& gil, const ObjectGraph& graph, const TensorFields& fields, const ObjectPaths& paths,
                uint64_t newest, const TensorSizes* sizes, LookLimits& limits);

  const PageArray<Tensor>& all() const { return all_; }
  std::span<const uint32_t> holders(const Tensor& tensor) const {
    return {holders_.data() + tensor.first_holder, tensor.holders};
  }
  // What the holder's reference `nth`, of those to this tensor, refers to: its object, or a DLPack capsule that keeps
  // it.
  uint32_t held_object(const ObjectGraph& graph, const Tensor& tensor, uint32_t holder, size_t nth) const;

 private:
  bool find_tensors(const ObjectGraph& graph, const TensorFields& fields, const ObjectPaths& paths, uint64_t newest,
                    const TensorSizes* sizes, LookLimits& limits);
  bool find_holders(const ObjectGraph& graph);
  static uint32_t tensor_under(const ObjectGraph& graph, uint32_t view, const PageArray<uint32_t>& numbers);
  bool find_users(const Gil& gil, const ObjectGraph& graph, const TensorSizes* sizes, LookLimits& limits);

  // A capsule of a tensor that has an object, or another capsule, besides.
  struct Export {
    uint64_t serial;
    uint32_t object;
  };
  std::span<const Export> exports_of(uint64_t serial) const;
  bool find_exports(const ObjectGraph& graph, const ObjectPaths& paths, uint64_t newest, const TensorSizes* sizes);

  PageArray<Tensor> all_;
  // An object whose memory is the tensor's, and which keeps its object in C++.
  struct User {
    uint32_t tensor, object;
  };

  PageArray<Export> exports_;  // by serial
  PageArray<User> users_;
  PageArray<uint32_t> holders_;
};

}  // namespace tensorscope::python::heap_inspector
