#include "python/agent/attributes.h"

#include <atomic>
#include <string>

#include "python/objects.h"
#include "torch/metadata/object_class.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::python::agent {

namespace {

constexpr char kSource[] = R"(
class Probe:
    def __init__(self, a, b):
        self.first = a
        self.second = b
probe = Probe(a, b)
)";

std::atomic<bool> g_values_are_known{false};

// PyHeapTypeObject.ht_cached_keys (Include/cpython/object.h of 3.11.7, 3.12.1, 3.13.0).
ptrdiff_t shared_keys_field(const Gil& gil) { return gil->series < 312 ? 872 : 880; }

// PyDictKeysObject (Include/internal/pycore_dict.h, 3.11 to 3.13): log2 of the index's bytes, kind, entries, index.
constexpr ptrdiff_t kIndexBytesField = 9, kKindField = 10, kEntriesField = 24, kIndexField = 32;
constexpr uint8_t kSplitKeys = 2;
constexpr ptrdiff_t kMaxSharedKeys = 30;  // SHARED_KEYS_MAX_SIZE

bool word_is_readable(const void* at) {
  const auto address = reinterpret_cast<uint64_t>(at);
  uint64_t word = 0;
  return address % sizeof word == 0 && torch::read_words_safely(&address, &word, 1) && word != 0;
}

std::vector<std::string_view> read_names(const Gil& gil, const Object* type) {
  std::vector<std::string_view> names;
  const auto keys = field<const char*>(type, shared_keys_field(gil));
  if (!keys || field<uint8_t>(keys, kKindField) != kSplitKeys) return names;
  const auto count = field<ptrdiff_t>(keys, kEntriesField);
  if (count < 0 || count > kMaxSharedKeys) return names;
  const char* entry = keys + kIndexField + (ptrdiff_t{1} << field<uint8_t>(keys, kIndexBytesField));
  for (ptrdiff_t i = 0; i < count; ++i, entry += 2 * sizeof(Object*))
    names.push_back(text_of(gil, field<Object*>(entry, 0)));
  return names;
}

// Where an instance whose attributes are in no __dict__ keeps them, else null.
const char* values_of(const Gil& gil, const Object* instance) {
  const Object* type = type_of(instance);
  const unsigned long flags = flags_of(type);
  if ((flags & type_flags::kManagedDict) == 0) return nullptr;
  if (gil->series == 311) {  // _PyObject_ValuesPointer (Include/internal/pycore_object.h)
    return field<Object*>(instance, -24) ? nullptr : field<const char*>(instance, -32);
  }
  if (gil->series == 312) {  // PyDictOrValues: the lowest bit says which
    const auto word = field<uintptr_t>(instance, -24);
    return (word & 1) != 0 ? reinterpret_cast<const char*>(word + 1) : nullptr;
  }
  // _PyObject_InlineValues and PyDictValues: capacity, size, embedded, valid, then the values
  if ((flags & type_flags::kInlineValues) == 0) return nullptr;
  const char* values = reinterpret_cast<const char*>(instance) + basic_size_of(type);
  return field<uint8_t>(values, 3) != 0 ? values + 8 : nullptr;
}

}  // namespace

bool check_attributes(const Gil& gil) {
  if (gil->series < 311) return true;
  const Owned globals(gil, gil->PyDict_New()), a(gil, gil->PyDict_New()), b(gil, gil->PyDict_New());
  if (!globals || !a || !b) return false;
  gil->PyDict_SetItemString(globals.get(), "a", a.get());
  gil->PyDict_SetItemString(globals.get(), "b", b.get());
  const Owned done(gil, gil->PyRun_String(kSource, kFileInput, globals.get(), globals.get()));
  Object* instance = done ? entry(gil, globals.get(), "probe") : nullptr;
  if (!instance) return false;
  const char* values = values_of(gil, instance);
  if (!values || !word_is_readable(values) || field<Object*>(values, 0) != a.get() ||
      field<Object*>(values, 8) != b.get()) {
    return false;
  }
  const auto keys = field<const char*>(type_of(instance), shared_keys_field(gil));
  if (!word_is_readable(keys) || !word_is_readable(keys + kEntriesField)) return false;
  const std::vector<std::string_view> names = read_names(gil, type_of(instance));
  const bool right = names.size() == 2 && names[0] == "first" && names[1] == "second";
  g_values_are_known.store(right, std::memory_order_release);
  return right;
}

Object* own_dict(const Gil& gil, const Object* instance) {
  const Object* type = type_of(instance);
  if (flags_of(type) & type_flags::kManagedDict) {
    if (gil->series == 312) {
      const auto word = field<uintptr_t>(instance, -24);
      return (word & 1) != 0 ? nullptr : reinterpret_cast<Object*>(word);
    }
    return field<Object*>(instance, -24);
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
  if (fresh) found->second = read_names(gil_, type);
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

}  // namespace tensorscope::python::agent
