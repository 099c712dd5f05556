// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/rows/tensor_objects.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "live/tensor_serial.h"
#include "python/heap_inspector/foreign/arrow_memory.h"
#include "python/heap_inspector/foreign/dlpack_capsules.h"
#include "python/heap_inspector/foreign/numpy_arrays.h"
#include "python/heap_inspector/graph/type_fields.h"

namespace tensorscope::python::heap_inspector {

namespace {

// THPVariable::cdata (torch/csrc/autograd/python_variable.h): an at::Tensor right after the header; in older torch a
// c10::MaybeOwned, whose first word is whether C++ owns this object instead of the other way round.
constexpr ptrdiff_t kTensorField = 16, kMaybeOwnedField = 24;
constexpr size_t kSamples = 64;
constexpr uint32_t kStepsOfAQuestion = 32;  // by what it costs

const TensorSize* find_size(const TensorSizes* sizes, uint64_t serial) {
  if (sizes == nullptr) return nullptr;
  const auto found = std::lower_bound(sizes->begin(), sizes->end(), serial,
                                      [](const TensorSize& size, uint64_t wanted) { return size.serial < wanted; });
  return found != sizes->end() && found->serial == serial ? found : nullptr;
}

uint64_t size_of(const TensorSizes* sizes, uint64_t serial) {
  const TensorSize* size = find_size(sizes, serial);
  return size != nullptr ? size->bytes : 0;
}

// Memory of a tensor whose object, or an array on it, is kept by C code.
struct KeptMemory {
  uint64_t first, end;
  uint32_t tensor, left;  // references that nothing else explains
  uint32_t used;          // in the last of those at one place: how many before it have none left
};

// The one where this memory begins, else the nearest before it. Of several at one place one that still has a reference
// to explain. Null: the memory is no tensor's.
KeptMemory* memory_at(PageArray<KeptMemory>& kept, uint64_t address) {
  KeptMemory* const after = std::upper_bound(kept.begin(), kept.end(), address,
                                             [](uint64_t wanted, const auto& each) { return wanted < each.first; });
  if (after == kept.begin() || address >= (after - 1)->end) return nullptr;
  KeptMemory* const last = after - 1;
  KeptMemory* found = last - last->used;
  if (found->left == 0 && found != kept.begin() && (found - 1)->first == last->first) {
    ++last->used;
    --found;
  }
  return found;
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

TensorObjects::TensorObjects(const Gil& gil, const ObjectGraph& graph, const TensorFields& fields,
                             const ObjectPaths& paths, uint64_t newest, const TensorSizes* sizes, LookLimits& limits) {
  const bool found = find_tensors(graph, fields, paths, newest, sizes, limits);
  std::sort(all_.begin(), all_.end(), [](const Tensor& a, const Tensor& b) {
    return std::tie(b.bytes, a.depth, a.serial) < std::tie(a.bytes, b.depth, b.serial);
  });
  if (found && find_users(gil, graph, sizes, limits) && find_holders(graph)) return;
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

// What stands before the address in a MaybeOwned is a bool in a word that is otherwise zero.
TensorFields TensorFields::by_shape(const ObjectGraph& graph) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) == Kind::tensor && field<uint64_t>(graph.object(i), kTensorField) > 1) {
      return TensorFields(kTensorField);
    }
  }
  return TensorFields(kMaybeOwnedField);
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

// The number in `numbers` of the tensor whose memory an array or a memoryview shows.
uint32_t TensorObjects::tensor_under(const ObjectGraph& graph, uint32_t view, const PageArray<uint32_t>& numbers) {
  constexpr int kDeepest = 8;
  for (int i = 0; i < kDeepest && view != kNoObject && numbers[view] == 0; ++i) {
    const std::span<const uint32_t> references = graph.references(view);
    const bool buffer = graph.kind(view) == Kind::buffer && !references.empty();
    view = graph.kind(view) == Kind::array ? graph.find(owner_of_memory(graph.object(view)))
           : buffer                        ? references[0]
                                           : kNoObject;
  }
  return view != kNoObject ? numbers[view] : 0;
}

// False: no memory. An object that uses several tensors' memory is a holder of each.
bool TensorObjects::find_users(const Gil& gil, const ObjectGraph& graph, const TensorSizes* sizes, LookLimits& limits) {
  PageArray<uint32_t> users, numbers;  // numbers: of each object, that of its tensor plus 1
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) == Kind::arrow && !users.push(i)) return false;
  }
  if (users.empty()) return true;
  if (!numbers.resize(graph.size())) return false;
  for (uint32_t i = 0; i < all_.size(); ++i) numbers[all_[i].object] = i + 1;
  PageArray<KeptMemory> kept;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const uint32_t number = tensor_under(graph, i, numbers);
    if (number == 0) continue;
    const bool tensor = graph.kind(i) == Kind::tensor;
    const TensorSize* size = find_size(sizes, all_[number - 1].serial);
    const int64_t unexplained = size ? graph.outside_references(i) - (tensor && all_[number - 1].kept_by_cpp) : 0;
    if (unexplained <= 0) continue;
    const uint64_t first = tensor ? size->first : address_of_memory(graph.object(i), graph.kind(i));
    if (!kept.push({first, size->base + size->bytes, number - 1, uint32_t(unexplained), 0})) return false;
  }
  std::stable_sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  ArrowMemory arrow(gil, limits);
  for (const uint32_t user : users) {
    if (kept.empty() || limits.reached(kStepsOfAQuestion)) return true;
    const size_t before = users_.size();
    for (const ArrowMemory::Piece& piece : arrow.pieces(graph.object(user))) {
      KeptMemory* memory = memory_at(kept, piece.address);
      if (!memory) continue;
      memory->left -= memory->left > 0;
      const auto told = [&](const User& each) { return each.tensor == memory->tensor; };
      if (std::any_of(users_.begin() + ptrdiff_t(before), users_.end(), told)) continue;
      if (!users_.push({memory->tensor, user})) return false;
    }
  }
  return true;
}

// Whatever the clock says: without it nothing has a name, and it is quick.
bool TensorObjects::find_holders(const ObjectGraph& graph) {
  PageArray<uint32_t> numbers;  // of each object: that of its tensor plus 1
  if (!numbers.resize(graph.size())) return false;
  std::sort(users_.begin(), users_.end(), [](const User& a, const User& b) { return a.tensor < b.tensor; });
  uint64_t count = 0;
  size_t users = 0;
  for (uint32_t i = 0; i < all_.size(); ++i) {
    numbers[all_[i].object] = i + 1;
    all_[i].first_holder = uint32_t(count);
    count += graph.inside_references(all_[i].object);
    for (; users < users_.size() && users_[users].tensor == i; ++users) ++count;
    for (const Export& each : exports_of(all_[i].serial)) {
      numbers[each.object] = i + 1;
      count += graph.inside_references(each.object);
    }
  }
  if (count > UINT32_MAX || !holders_.resize(count)) return false;
  const auto add = [&](Tensor& tensor, uint32_t holder) {
    holders_[tensor.first_holder + tensor.holders] = holder;
    tensor.holders = tensor.holders + 1;
  };
  for (const User& user : users_) add(all_[user.tensor], user.object);
  for (uint32_t from = 0; from < graph.size(); ++from) {
    for (const uint32_t to : graph.references(from)) {
      if (numbers[to] != 0) add(all_[numbers[to] - 1], from);
    }
  }
  return true;
}

}  // namespace tensorscope::python::heap_inspector
