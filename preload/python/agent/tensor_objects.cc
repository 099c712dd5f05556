#include "python/agent/tensor_objects.h"

#include <algorithm>

#include "live/tensor_serial.h"
#include "python/agent/type_fields.h"

namespace tensorscope::python::agent {

namespace {

// THPVariable::cdata (torch/csrc/autograd/python_variable.h): an at::Tensor right after the header; in older torch a
// c10::MaybeOwned, whose first word tells whether C++ owns this object instead of the other way round.
constexpr ptrdiff_t kTensorField = 16, kMaybeOwnedField = 24;
constexpr size_t kSamples = 64;
constexpr uint32_t kNone = UINT32_MAX;

}  // namespace

const void* TensorObjects::impl(Object* object) const { return field<const void*>(object, impl_field_); }

// Where the tensor is right after the header, C++ refers to the Python object as long as something besides it refers to
// the TensorImpl, whose count of references is the low half of its second word (c10/util/intrusive_ptr.h, "PyObject
// preservation").
bool TensorObjects::cpp_keeps(Object* object) const {
  if (impl_field_ == kMaybeOwnedField) return field<uint8_t>(object, kTensorField) != 0;
  return field<uint32_t>(impl(object), 8) > 1;
}

TensorObjects::TensorObjects(const Gil&, const ObjectGraph& graph, const std::vector<Kind>& kinds, uint64_t newest) {
  std::vector<uint32_t> objects;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (kinds[i] == Kind::tensor) objects.push_back(i);
  }
  size_t votes[2] = {};
  for (size_t i = 0; i < objects.size() && i < kSamples; ++i) {
    Object* object = graph.object(objects[i]);
    votes[0] += live::tensor_serial(field<const void*>(object, kTensorField)) != 0;
    votes[1] += live::tensor_serial(field<const void*>(object, kMaybeOwnedField)) != 0;
  }
  impl_field_ = votes[1] > votes[0] ? kMaybeOwnedField : kTensorField;

  for (const uint32_t object : objects) {
    const uint64_t serial = live::tensor_serial(impl(graph.object(object)));
    if (serial == 0 || serial > newest) continue;
    all_.push_back({object, serial, 0, 0, cpp_keeps(graph.object(object))});
  }
  std::sort(all_.begin(), all_.end(), [](const Tensor& a, const Tensor& b) { return a.serial < b.serial; });

  std::vector<uint32_t> numbers(graph.size(), kNone);
  for (uint32_t i = 0; i < all_.size(); ++i) numbers[all_[i].object] = i;
  uint64_t count = 0;
  for (Tensor& tensor : all_) {
    tensor.first_holder = count;
    count += graph.inside_references(tensor.object);
  }
  holders_.resize(count);
  for (uint32_t from = 0; from < graph.size(); ++from) {
    for (const uint32_t to : graph.references(from)) {
      if (numbers[to] == kNone) continue;
      Tensor& tensor = all_[numbers[to]];
      holders_[tensor.first_holder + tensor.holders++] = from;
    }
  }
}

}  // namespace tensorscope::python::agent
