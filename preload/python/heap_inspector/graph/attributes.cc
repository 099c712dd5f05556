// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/attributes.h"

#include <atomic>
#include <string>
#include <vector>

#include "python/heap_inspector/graph/attributes.py.h"
#include "python/heap_inspector/graph/interpreter_layout.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "torch/metadata/object_class.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::python::heap_inspector {

namespace {

std::atomic<bool> g_values_are_known{false}, g_dicts_are_unknown{false};

// Of no series before it is known: then there are no values outside of a __dict__ either.
const stacks::PythonLayout& layout(const Gil& gil) {
  static constinit stacks::PythonLayout unknown{};
  const stacks::PythonInterpreter* known = known_layout(gil);
  return known ? known->layout : unknown;
}

// PyDictKeysObject (Include/internal/pycore_dict.h, 3.11 to 3.15): log2 of the index's bytes, kind, entries, index.
constexpr ptrdiff_t kIndexBytesField = 9, kKindField = 10, kEntriesField = 24, kIndexField = 32;
constexpr uint8_t kSplitKeys = 2;
constexpr ptrdiff_t kMaxSharedKeys = 30;  // SHARED_KEYS_MAX_SIZE

bool word_is_readable(const void* at) {
  const auto address = reinterpret_cast<uint64_t>(at);
  uint64_t word = 0;
  return address % sizeof word == 0 && torch::read_words_safely(&address, &word, 1) && word != 0;
}

// What the class says the attributes of its instances are called, in their order; null: nothing that has keys.
std::vector<Object*> shared_keys(const char* keys) {
  std::vector<Object*> names;
  if (!keys || field<uint8_t>(keys, kKindField) != kSplitKeys) return names;
  const auto count = field<ptrdiff_t>(keys, kEntriesField);
  if (count < 0 || count > kMaxSharedKeys) return names;
  const char* entry = keys + kIndexField + (ptrdiff_t{1} << field<uint8_t>(keys, kIndexBytesField));
  for (ptrdiff_t i = 0; i < count; ++i, entry += 2 * sizeof(Object*)) names.push_back(field<Object*>(entry, 0));
  return names;
}

const char* shared_keys_of(const Gil& gil, const Object* type) {
  return field<const char*>(type, layout(gil).type_shared_keys);
}

// Where an instance whose attributes are in no __dict__ keeps them, else null.
const char* values_of(const Gil& gil, const Object* instance) {
  const Object* type = type_of(instance);
  const unsigned long flags = flags_of(type);
  if ((flags & type_flags::kManagedDict) == 0) return nullptr;
  const stacks::PythonLayout& where = layout(gil);
  switch (where.instance_values) {
    case stacks::InstanceValues::none:
      return nullptr;
    case stacks::InstanceValues::pointed_to:  // _PyObject_ValuesPointer (Include/internal/pycore_object.h)
      return field<Object*>(instance, where.instance_dict) ? nullptr
                                                           : field<const char*>(instance, where.values_pointer);
    case stacks::InstanceValues::tagged: {  // PyDictOrValues
      const auto word = field<uintptr_t>(instance, where.instance_dict);
      return (word & 1) != 0 ? reinterpret_cast<const char*>(word + 1) : nullptr;
    }
    case stacks::InstanceValues::inlined:
      break;
  }
  // _PyObject_InlineValues and PyDictValues: capacity, size, embedded, valid, then the values
  if ((flags & type_flags::kInlineValues) == 0) return nullptr;
  const char* values = reinterpret_cast<const char*>(instance) + basic_size_of(type);
  return field<uint8_t>(values, 3) != 0 ? values + 8 : nullptr;
}

// Whether the values of an instance with two attributes are read as these. Follows no pointer that may be none.
bool values_are(const Gil& gil, Object* instance, const Object* const (&expected)[2], Object* names) {
  const char* values = values_of(gil, instance);
  if (!values || !word_is_readable(values)) return false;
  const char* keys = shared_keys_of(gil, type_of(instance));
  if (!word_is_readable(keys) || !word_is_readable(keys + kEntriesField)) return false;
  const std::vector<Object*> keys_found = shared_keys(keys);
  if (keys_found.size() != 2 || gil->PyTuple_Size(names) != 2) return false;
  for (ptrdiff_t i = 0; i < 2; ++i) {
    if (field<Object*>(values, i * ptrdiff_t(sizeof(Object*))) != expected[i]) return false;
    if (keys_found[size_t(i)] != gil->PyTuple_GetItem(names, i)) return false;
  }
  return true;
}

}  // namespace

bool check_attributes(const Gil& gil) {
  if (!known_layout(gil)) return false;
  const Owned a(gil, gil->PyDict_New()), b(gil, gil->PyDict_New());
  const Owned globals(gil, own_globals(gil, {}, {{"a", a.get()}, {"b", b.get()}}));
  if (!globals) return false;
  const Owned done(gil, gil->PyRun_String(embedded::kAttributes, kFileInput, globals.get(), globals.get()));
  if (!done) return false;
  const auto made = [&](const char* name) { return entry(gil, globals.get(), name); };
  const bool managed = has_flag(made("probe"), type_flags::kManagedDict);
  const bool none = layout(gil).instance_values == stacks::InstanceValues::none;
  const bool right = own_dict(gil, made("asked")) == made("attributes") &&
                     (none ? !managed : values_are(gil, made("probe"), {a.get(), b.get()}, made("names")));
  g_dicts_are_unknown.store(!right, std::memory_order_release);
  g_values_are_known.store(right && !none, std::memory_order_release);
  return right;
}

Object* own_dict(const Gil& gil, const Object* instance) {
  if (g_dicts_are_unknown.load(std::memory_order_acquire)) return nullptr;
  const Object* type = type_of(instance);
  if (flags_of(type) & type_flags::kManagedDict) {
    const stacks::PythonLayout& where = layout(gil);
    if (where.instance_dict == 0) return nullptr;
    const auto word = field<uintptr_t>(instance, where.instance_dict);
    const bool values = where.instance_values == stacks::InstanceValues::tagged && (word & 1) != 0;
    return values ? nullptr : reinterpret_cast<Object*>(word);
  }
  ptrdiff_t offset = dict_offset_of(type);
  if (offset == 0) return nullptr;
  if (offset < 0) {  // from the end of an object of variable size (_PyObject_GetDictPtr in Objects/object.c)
    ptrdiff_t count = size_of_variable(instance);
    if (count < 0) count = -count;
    const ptrdiff_t size = basic_size_of(type) + count * item_size_of(type);
    if (has_flag(instance, type_flags::kLong)) return nullptr;
    offset += (size + 7) & ~ptrdiff_t{7};
  }
  return field<Object*>(instance, offset);
}

const char* Attributes::inline_values(const Object* instance) const {
  return g_values_are_known.load(std::memory_order_acquire) ? values_of(gil_, instance) : nullptr;
}

const std::vector<std::string_view>& Attributes::shared_names(const Object* type) {
  const auto [found, fresh] = names_.try_emplace(type);
  if (fresh) {
    for (Object* name : shared_keys(shared_keys_of(gil_, type))) found->second.push_back(text_of(gil_, name));
  }
  return found->second;
}

uint32_t Attributes::lead(const ObjectGraph& graph, uint32_t instance, std::string_view name, ObjectPaths& paths) {
  Object* value = find(graph.object(instance), name);
  const uint32_t number = value ? graph.find(value) : kNoObject;
  if (number == kNoObject) return kNoObject;
  Object* dict = own_dict(gil_, graph.object(instance));
  const uint32_t attributes = dict ? graph.find(dict) : kNoObject;
  if (attributes != kNoObject) paths.prefer_parent(attributes, instance);
  paths.prefer_parent(number, attributes != kNoObject ? attributes : instance);
  return number;
}

Object* Attributes::find(const Object* instance, std::string_view name) {
  Object* found = nullptr;
  each(instance, [&](std::string_view other, Object* value) {
    if (other == name) found = value;
    return found == nullptr;
  });
  return found;
}

}  // namespace tensorscope::python::heap_inspector
