#include "python/agent/tensor_objects.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "live/tensor_serial.h"
#include "python/agent/dlpack_capsules.h"
#include "python/agent/type_fields.h"

namespace tensorscope::python::agent {

namespace {

// THPVariable::cdata (torch/csrc/autograd/python_variable.h): an at::Tensor right after the header; in older torch a
// c10::MaybeOwned, whose first word tells whether C++ owns this object instead of the other way round.
constexpr ptrdiff_t kTensorField = 16, kMaybeOwnedField = 24;
constexpr size_t kSamples = 64;

uint64_t size_of(const TensorSizes* sizes, uint64_t serial) {
  if (sizes == nullptr) return 0;
  const auto found = std::lower_bound(sizes->begin(), sizes->end(), serial,
                                      [](const TensorSize& size, uint64_t wanted) { return size.serial < wanted; });
  return found != sizes->end() && found->serial == serial ? found->bytes : 0;
}

}  // namespace

const void* TensorFields::impl(const Object* object) const { return field<const void*>(object, impl_field_); }

// Where the tensor is right after the header, C++ refers to the Python object as long as something besides it refers to
// the TensorImpl, whose count of references is the low half of its second word (c10/util/intrusive_ptr.h, "PyObject
// preservation").
bool TensorFields::cpp_keeps(const Object* object) const {
  if (impl_field_ == kMaybeOwnedField) return field<uint8_t>(object, kTensorField) != 0;
  return field<uint32_t>(impl(object), 8) > 1;
}

TensorObjects::TensorObjects(const ObjectGraph& graph, const TensorFields& fields, const ObjectPaths& paths,
                             uint64_t newest, const TensorSizes* sizes, LookLimits& limits) {
  const bool found = find_tensors(graph, fields, paths, newest, sizes, limits);
  std::sort(all_.begin(), all_.end(), [](const Tensor& a, const Tensor& b) {
    return std::tie(b.bytes, a.depth, a.serial) < std::tie(a.bytes, b.depth, b.serial);
  });
  if (found && find_holders(graph)) return;
  limits.memory_ran_out();
}

TensorFields::TensorFields(const ObjectGraph& graph) {
  size_t votes[2] = {}, samples = 0;
  for (uint32_t i = 0; i < graph.size() && samples < kSamples; ++i) {
    if (graph.kind(i) != Kind::tensor) continue;
    votes[0] += live::tensor_serial(field<const void*>(graph.object(i), kTensorField)) != 0;
    votes[1] += live::tensor_serial(field<const void*>(graph.object(i), kMaybeOwnedField)) != 0;
    ++samples;
  }
  impl_field_ = votes[1] > votes[0] ? kMaybeOwnedField : kTensorField;
}

// False: no memory. Where the time is up, the rest stays unknown.
bool TensorObjects::find_tensors(const ObjectGraph& graph, const TensorFields& fields, const ObjectPaths& paths,
                                 uint64_t newest, const TensorSizes* sizes, LookLimits& limits) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) != Kind::tensor) continue;
    if (limits.reached()) break;
    const uint64_t serial = live::tensor_serial(fields.impl(graph.object(i)));
    if (serial == 0 || serial > newest) continue;
    const uint32_t depth = paths.reached(i) ? paths.depth(i) : UINT32_MAX;
    if (!all_.push({i, depth, serial, size_of(sizes, serial), 0, 0, fields.cpp_keeps(graph.object(i))})) return false;
  }
  return find_exports(graph, paths, newest, sizes);
}

// After all objects of tensors.
bool TensorObjects::find_exports(const ObjectGraph& graph, const ObjectPaths& paths, uint64_t newest,
                                 const TensorSizes* sizes) {
  std::set<uint64_t> known;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) != Kind::capsule) continue;
    const uint64_t serial = live::tensor_serial(exported_tensor(graph.object(i)));
    if (serial == 0 || serial > newest) continue;
    if (known.empty()) {
      for (const Tensor& tensor : all_) known.insert(tensor.serial);
    }
    const uint32_t depth = paths.reached(i) ? paths.depth(i) : UINT32_MAX;
    const bool room = known.insert(serial).second ? all_.push({i, depth, serial, size_of(sizes, serial), 0, 0, 0})
                                                  : exports_.push({serial, i});
    if (!room) return false;
  }
  std::sort(exports_.begin(), exports_.end(), [](const Export& a, const Export& b) { return a.serial < b.serial; });
  return true;
}

std::span<const TensorObjects::Export> TensorObjects::exports_of(uint64_t serial) const {
  const auto [first, last] = std::equal_range(exports_.begin(), exports_.end(), Export{serial, 0},
                                              [](const Export& a, const Export& b) { return a.serial < b.serial; });
  return {first, last};
}

uint32_t TensorObjects::held_object(const ObjectGraph& graph, const Tensor& tensor, uint32_t holder, size_t nth) const {
  const std::span<const Export> exports = exports_of(tensor.serial);
  if (exports.empty()) return tensor.object;
  for (const uint32_t to : graph.references(holder)) {
    const auto is_it = [to](const Export& each) { return each.object == to; };
    const bool of_tensor = to == tensor.object || std::any_of(exports.begin(), exports.end(), is_it);
    if (of_tensor && nth-- == 0) return to;
  }
  return tensor.object;
}

// Whatever the clock says: without it nothing has a name, and it is quick.
bool TensorObjects::find_holders(const ObjectGraph& graph) {
  PageArray<uint32_t> numbers;  // of each object: that of its tensor plus 1
  if (!numbers.resize(graph.size())) return false;
  uint64_t count = 0;
  for (uint32_t i = 0; i < all_.size(); ++i) {
    numbers[all_[i].object] = i + 1;
    all_[i].first_holder = uint32_t(count);
    count += graph.inside_references(all_[i].object);
    for (const Export& each : exports_of(all_[i].serial)) {
      numbers[each.object] = i + 1;
      count += graph.inside_references(each.object);
    }
  }
  if (count > UINT32_MAX || !holders_.resize(count)) return false;
  for (uint32_t from = 0; from < graph.size(); ++from) {
    for (const uint32_t to : graph.references(from)) {
      if (numbers[to] == 0) continue;
      Tensor& tensor = all_[numbers[to] - 1];
      holders_[tensor.first_holder + tensor.holders] = from;
      tensor.holders = tensor.holders + 1;
    }
  }
  return true;
}

}  // namespace tensorscope::python::agent
