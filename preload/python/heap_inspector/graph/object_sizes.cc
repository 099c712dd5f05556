// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/object_sizes.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "python/heap_inspector/foreign/numpy_arrays.h"
#include "python/objects.h"
#include "support/spread_bits.h"

namespace tensorscope::python::heap_inspector {

namespace {

constexpr uint64_t kCollectorHeader = 16;

// Layouts that differ from __sizeof__: what has one of them has the size of its type alone.
bool g_texts_are_known = false, g_integers_are_known = false;

uint64_t ascii_header(int series) { return series < 312 ? 48 : 40; }

// PyASCIIObject (Include/cpython/unicodeobject.h): length, hash, and bits, of which 3.8 to 3.15 have the kind (bytes a
// character) after those of `interned`.
uint64_t text_bytes(const Object* text, int series) {
  const auto length = uint64_t(field<ptrdiff_t>(text, 16));
  const auto bits = field<uint32_t>(text, 32);
  const uint64_t kind = bits >> 2 & 7, header = ascii_header(series);
  const bool compact = (bits >> 5 & 1) != 0, ascii = (bits >> 6 & 1) != 0;
  if (!compact) return 0;
  return ascii ? header + length + 1 : header + (series < 312 ? 24 : 16) + (length + 1) * kind;
}

// PyLongObject: up to 3.11 ob_size digits of 30 bits, the sign is its; from 3.12 on lv_tag, a number above three bits.
uint64_t integer_bytes(const Object* integer, int series) {
  const uint64_t digits =
      series < 312 ? uint64_t(std::abs(size_of_variable(integer))) : field<uint64_t>(integer, 16) >> 3;
  return 24 + std::max<uint64_t>(digits, 1) * 4;
}

// A table of a power of two of places, at most two thirds full, each with a hash, a key and a value, and an index
// (Objects/dictobject.c).
uint64_t dict_table_places(uint64_t entries) {
  uint64_t places = 8;
  while (places * 2 / 3 < entries) places *= 2;
  return places;
}

uint64_t dict_table_bytes(uint64_t entries) {
  if (entries == 0) return 0;  // Py_EMPTY_KEYS
  const uint64_t places = dict_table_places(entries);
  const uint64_t index = places <= 0xff ? 1 : places <= 0xffff ? 2 : places <= 0xffffffff ? 4 : 8;
  return 40 + places * index + places * 2 / 3 * 24;
}

// PyDictObject.ma_values: an instance's attributes, whose keys its class has.
uint64_t dict_bytes(const Object* dict) {
  const auto entries = uint64_t(std::max<ptrdiff_t>(0, size_of_variable(dict)));
  return field<const void*>(dict, 40) ? entries * sizeof(Object*) : dict_table_bytes(entries);
}

// From CPython 3.11 on an entry whose key is a text has no hash of its own, where all keys are texts
// (PyDictUnicodeEntry, Include/internal/pycore_dict.h).
constexpr int kTextEntries = 311;
uint64_t hashes_of_entries(const Object* dict) {
  const auto entries = uint64_t(std::max<ptrdiff_t>(0, size_of_variable(dict)));
  const bool has_table = entries > 0 && !field<const void*>(dict, 40);
  return has_table ? dict_table_places(entries) * 2 / 3 * sizeof(uint64_t) : 0;
}

// Objects/odictobject.c: a node for each entry, and a table of these with as many places as the dict's own.
uint64_t order_bytes(uint64_t entries) {
  return entries == 0 ? 0 : entries * 4 * sizeof(void*) + dict_table_places(entries) * sizeof(void*);
}

// Modules/_io/bytesio.c: a bytes object, which others may have as well (getvalue()), and how much of it is in use.
uint64_t bytes_io_bytes(const Object* file) {
  constexpr uint64_t kBytesObject = 33;  // without its bytes, with the zero behind them
  const auto* buffer = field<const Object*>(file, 16);
  const bool alone = buffer && field<uint32_t>(buffer, 0) == 1;
  return alone ? kBytesObject + uint64_t(std::max<ptrdiff_t>(0, size_of_variable(buffer))) : 0;
}

// Modules/_io/stringio.c: characters of 32 bits once it was read or positioned; until then texts that are not joined,
// which take a byte a character at least.
uint64_t string_io_bytes(const Object* file) {
  constexpr int kJoined = 1;
  const bool joined = field<int>(file, 48) == kJoined;
  return joined ? field<uint64_t>(file, 40) * sizeof(char32_t)
                : uint64_t(std::max<ptrdiff_t>(0, field<ptrdiff_t>(file, 32)));
}

// PySetObject: eight places are in the object.
uint64_t set_table_bytes(const Object* set) {
  const auto places = field<uint64_t>(set, 32) + 1;
  return places > 8 ? places * 16 : 0;
}

// The arrays of arraymodule.c: what is allocated, and the size of an element in the descriptor.
uint64_t array_bytes(const Object* array) {
  const auto* descriptor = field<const char*>(array, 40);
  const auto allocated = field<ptrdiff_t>(array, 32);
  const int item = descriptor ? field<int>(descriptor, 4) : 0;
  return allocated > 0 && item > 0 && item <= 8 ? uint64_t(allocated) * uint64_t(item) : 0;
}

}  // namespace

ObjectSizes::ObjectSizes(const Gil& gil, const KnownClasses& classes)
    : gil_(gil),
      ascii_header_(g_texts_are_known ? ascii_header(gil->series) : 0),
      array_(array_layout_is_known(gil, classes) ? classes.array : nullptr) {}

ObjectSizes::Remembered ObjectSizes::remember(Object* type) const {
  Remembered found{type, Layout::fixed, (flags_of(type) & type_flags::kCollected) != 0,
                   uint32_t(std::max<ptrdiff_t>(0, basic_size_of(type))),
                   uint32_t(std::max<ptrdiff_t>(0, item_size_of(type)))};
  const unsigned long flags = flags_of(type);
  const auto named = [&](const char* wanted) {
    for (Object* base = type; base; base = base_of(base)) {
      const char* name = gil_->PyExceptionClass_Name(base);
      if (name && strcmp(name, wanted) == 0) return true;
    }
    return false;
  };
  if (flags & type_flags::kText) {
    found.layout = g_texts_are_known ? Layout::text : Layout::fixed;
    // What a class of the program adds; a text of Python's own may be smaller than its type says.
    if (g_texts_are_known) found.basic -= std::min(found.basic, uint32_t(basic_size_of(gil_->PyUnicode_Type)));
  } else if (flags & type_flags::kLong) {
    found.layout = g_integers_are_known ? Layout::integer : Layout::fixed;
  } else if (flags & type_flags::kDict) {
    found.layout = named("collections.OrderedDict") ? Layout::ordered_dict : Layout::dict;
  } else if (flags & type_flags::kList) {
    found.layout = Layout::list;
  } else if (flags & type_flags::kType) {
    found.layout = Layout::fixed;
  } else if (array_ && gil_->PyType_IsSubtype(type, array_) != 0) {
    found.layout = Layout::ndarray;
  } else if (gil_->PyType_IsSubtype(type, gil_->PySet_Type) || gil_->PyType_IsSubtype(type, gil_->PyFrozenSet_Type)) {
    found.layout = Layout::set;
  } else if (named("collections.deque")) {
    found.layout = Layout::deque;
  } else if (named("array.array")) {
    found.layout = Layout::array;
  } else if (named("_io.BytesIO")) {
    found.layout = Layout::bytes_io;
  } else if (named("_io.StringIO")) {
    found.layout = Layout::string_io;
  } else if (named("bytearray")) {
    found.layout = Layout::bytearray;
  } else if (found.item != 0) {
    found.layout = Layout::variable;
  }
  return found;
}

uint64_t ObjectSizes::beside_the_basic(const Object* object, const Remembered& type) const {
  switch (type.layout) {
    case Layout::fixed:
      return 0;
    case Layout::variable:
      return uint64_t(std::abs(size_of_variable(object))) * type.item;
    case Layout::text:
      return text_bytes(object, gil_->series);
    case Layout::integer:
      return integer_bytes(object, gil_->series) - std::min<uint64_t>(type.basic, 24);
    case Layout::bytearray:  // ob_alloc
      return uint64_t(std::max<ptrdiff_t>(0, field<ptrdiff_t>(object, 24)));
    case Layout::list:  // allocated
      return uint64_t(std::max<ptrdiff_t>(0, field<ptrdiff_t>(object, 32))) * sizeof(Object*);
    case Layout::dict:
      return dict_bytes(object);
    case Layout::ordered_dict:
      return dict_bytes(object) + order_bytes(uint64_t(std::max<ptrdiff_t>(0, size_of_variable(object))));
    case Layout::set:
      return set_table_bytes(object);
    case Layout::deque:  // blocks of 64 (Modules/_collectionsmodule.c)
      return (uint64_t(std::max<ptrdiff_t>(0, size_of_variable(object))) / 64 + 1) * 66 * sizeof(Object*);
    case Layout::ndarray:
      return own_memory_of(object);
    case Layout::array:
      return array_bytes(object);
    case Layout::bytes_io:
      return bytes_io_bytes(object);
    case Layout::string_io:
      return string_io_bytes(object);
  }
  return 0;
}

uint64_t ObjectSizes::bytes(const Object* object) {
  Object* const type = type_of(object);
  Remembered& recent = recent_[spread_bits(reinterpret_cast<uintptr_t>(type) >> 4) >> 54];
  if (recent.type != type) recent = remember(type);
  const uint64_t sum = recent.basic + beside_the_basic(object, recent) + (recent.collected ? kCollectorHeader : 0);
  return (sum + kRounding - 1) / kRounding * kRounding;
}

namespace {

// What type.__sizeof__(sample) returns; 0 where it could not be asked.
uint64_t size_as_python_says(const Gil& gil, Object* type, Object* sample) {
  const Owned ask(gil, gil->PyObject_GetAttrString(type, "__sizeof__"));
  const Owned size(gil, ask ? gil->PyObject_CallFunctionObjArgs(ask.get(), sample, nullptr) : nullptr);
  return size && is_exactly(size.get(), gil->PyLong_Type) ? uint64_t(gil->PyLong_AsLongLong(size.get())) : 0;
}

}  // namespace

void check_sizes(const Gil& gil) {
  const Owned ascii(gil, gil->PyUnicode_DecodeFSDefault("abc")), other(gil, gil->PyUnicode_DecodeFSDefault("\xc3\xa9"));
  const Owned small(gil, gil->PyLong_FromLongLong(-5)), large(gil, gil->PyLong_FromLongLong(1ll << 40));
  g_texts_are_known = g_integers_are_known = ascii && other && small && large;
  for (const Owned* text : {&ascii, &other}) {
    g_texts_are_known = g_texts_are_known && text_bytes(text->get(), gil->series) ==
                                                 size_as_python_says(gil, gil->PyUnicode_Type, text->get());
  }
  for (const Owned* number : {&small, &large}) {
    g_integers_are_known = g_integers_are_known && integer_bytes(number->get(), gil->series) ==
                                                       size_as_python_says(gil, gil->PyLong_Type, number->get());
  }
}

uint64_t ObjectSizes::less_with_text_keys(const Object* dict) const {
  return gil_->series >= kTextEntries ? hashes_of_entries(dict) : 0;
}

}  // namespace tensorscope::python::heap_inspector
