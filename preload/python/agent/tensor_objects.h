// Python's objects that stand for tensors, and who refers to each.
//
// Context: agent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "python/agent/object_graph.h"
#include "python/agent/object_kinds.h"

namespace tensorscope::python::agent {

class TensorObjects {
 public:
  struct Tensor {
    uint32_t object;
    uint64_t serial;
    uint64_t first_holder;  // among all tensors' holders
    uint32_t holders;       // objects, one for each reference
    bool kept_by_cpp;       // one reference to the Python object is C++'s
  };

  // Those that the table of live tensors knows with a serial up to `newest`, in serial order.
  TensorObjects(const Gil& gil, const ObjectGraph& graph, const std::vector<Kind>& kinds, uint64_t newest);

  const std::vector<Tensor>& all() const { return all_; }
  std::span<const uint32_t> holders(const Tensor& tensor) const {
    return {holders_.data() + tensor.first_holder, tensor.holders};
  }

 private:
  const void* impl(Object* object) const;
  bool cpp_keeps(Object* object) const;

  ptrdiff_t impl_field_ = 16;
  std::vector<Tensor> all_;
  std::vector<uint32_t> holders_;
};

}  // namespace tensorscope::python::agent
