// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/foreign/numpy_arrays.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

namespace {

constexpr ptrdiff_t kData = 16, kDimensions = 24, kShape = 32, kStrides = 40, kOwner = 48, kDescriptor = 56;
constexpr ptrdiff_t kMinBytes = 80, kMaxBytes = 128;
constexpr ptrdiff_t kTypeNumber = 28;            // of a descriptor
constexpr int kObjectType = 17, kVoidType = 20;  // NPY_OBJECT, NPY_VOID
constexpr int kMaxDimensions = 64;

}  // namespace

bool array_layout_is_known(const Gil& gil, const KnownClasses& classes) {
  if (!classes.array || !classes.array_descriptor) return false;
  const ptrdiff_t size = basic_size_of(classes.array);
  return size >= kMinBytes && size <= kMaxBytes && (flags_of(classes.array) & type_flags::kCollected) == 0 &&
         is_a(gil, classes.array, gil->PyType_Type);
}

Object* owner_of_memory(const Object* array) { return field<Object*>(array, kOwner); }

// Own memory is dense (numpy allocates no other), so the largest stride times its axis is all of it.
uint64_t own_memory_of(const Object* array) {
  const int dimensions = field<int>(array, kDimensions);
  if (owner_of_memory(array) || dimensions < 0 || dimensions > kMaxDimensions) return 0;
  const auto* shape = field<const ptrdiff_t*>(array, kShape);
  const auto* strides = field<const ptrdiff_t*>(array, kStrides);
  uint64_t bytes = 0;
  for (int i = 0; i < dimensions; ++i) {
    if (shape[i] <= 0) return 0;
    if (shape[i] > 1) bytes = std::max(bytes, uint64_t(shape[i]) * uint64_t(std::abs(strides[i])));
  }
  return bytes;
}

// PyMemoryViewObject.view.buf (Include/cpython/memoryobject.h, the same in 3.8 to 3.14).
uint64_t address_of_memory(const Object* view, Kind kind) {
  constexpr ptrdiff_t kBuffer = 56, kMinBytesOfView = 136;
  if (kind == Kind::array) return field<uint64_t>(view, kData);
  return basic_size_of(type_of(view)) >= kMinBytesOfView ? field<uint64_t>(view, kBuffer) : 0;
}

ObjectElements elements_of(const Gil& gil, const Object* array, const KnownClasses& classes) {
  Object* descriptor = field<Object*>(array, kDescriptor);
  const int dimensions = field<int>(array, kDimensions);
  if (!descriptor || owner_of_memory(array) || dimensions < 0 || dimensions > kMaxDimensions) return {};
  if (!is_a(gil, descriptor, classes.array_descriptor) || field<int>(descriptor, kTypeNumber) != kObjectType) return {};
  const auto* shape = field<const ptrdiff_t*>(array, kShape);
  size_t count = 1;
  for (int i = 0; i < dimensions; ++i) count *= size_t(shape[i]);
  return {field<Object* const*>(array, kData), count};
}

namespace {

bool is_object_type(const Gil& gil, Object* descriptor, const KnownClasses& classes) {
  return is_a(gil, descriptor, classes.array_descriptor) && field<int>(descriptor, kTypeNumber) == kObjectType;
}

long long whole_number(const Gil& gil, Object* value) {
  const long long number = value && is_exactly(value, gil->PyLong_Type) ? gil->PyLong_AsLongLong(value) : -1;
  if (number < 0) gil->PyErr_Clear();
  return number;
}

}  // namespace

// dtype.fields and dtype.itemsize are numpy's own, and no program derives from a dtype: name -> (dtype, offset, ...).
ObjectFields object_fields_of(const Gil& gil, Object* array, const KnownClasses& classes) {
  Object* descriptor = field<Object*>(array, kDescriptor);
  const int dimensions = field<int>(array, kDimensions);
  if (!descriptor || owner_of_memory(array) || dimensions < 0 || dimensions > kMaxDimensions) return {};
  if (!is_a(gil, descriptor, classes.array_descriptor) || field<int>(descriptor, kTypeNumber) != kVoidType) return {};
  const Owned proxy(gil, gil->PyObject_GetAttrString(descriptor, "fields"));
  const Owned size(gil, gil->PyObject_GetAttrString(descriptor, "itemsize"));
  if (!proxy || !size || !is_exactly(proxy.get(), gil->PyDictProxy_Type)) return {};
  const Owned copy(gil, gil->PyObject_GetAttrString(proxy.get(), "copy"));
  const Owned all(gil, copy ? gil->PyObject_CallFunctionObjArgs(copy.get(), nullptr) : nullptr);
  const long long bytes_each = whole_number(gil, size.get());
  ObjectFields found;
  each_entry(gil, all.get(), [&](Object* key, Object* value) {
    if (!is_exactly(value, gil->PyTuple_Type) || gil->PyTuple_Size(value) < 2) return true;
    const long long offset = whole_number(gil, gil->PyTuple_GetItem(value, 1));
    const bool fits = offset >= 0 && offset + (long long)(sizeof(Object*)) <= bytes_each;
    if (fits && is_object_type(gil, gil->PyTuple_GetItem(value, 0), classes))
      found.fields.push_back({std::string(text_of(gil, key)), ptrdiff_t(offset)});
    return true;
  });
  if (found.fields.empty()) return {};
  const auto* shape = field<const ptrdiff_t*>(array, kShape);
  found.count = 1;
  for (int i = 0; i < dimensions; ++i) found.count *= size_t(shape[i]);
  found.first = field<const char*>(array, kData);
  found.bytes_each = size_t(bytes_each);
  return found;
}

// The memory is dense, so the axis with the largest stride has the slowest index.
std::string element_index(const Object* array, size_t place, size_t bytes_each) {
  const int dimensions = field<int>(array, kDimensions);
  const auto* shape = field<const ptrdiff_t*>(array, kShape);
  const auto* strides = field<const ptrdiff_t*>(array, kStrides);
  std::vector<int> axes;
  for (int i = 0; i < dimensions; ++i) {
    if (shape[i] > 1) axes.push_back(i);
  }
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return strides[a] > strides[b]; });
  std::vector<ptrdiff_t> indexes(size_t(std::max(dimensions, 0)));
  auto offset = ptrdiff_t(place * bytes_each);
  for (const int axis : axes) {
    if (strides[axis] <= 0) continue;
    indexes[size_t(axis)] = offset / strides[axis];
    offset %= strides[axis];
  }
  std::string text;
  for (const ptrdiff_t index : indexes) text += (text.empty() ? "" : ", ") + std::to_string(index);
  return text.empty() ? "()" : text;
}

}  // namespace tensorscope::python::heap_inspector
