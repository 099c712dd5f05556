// SPDX-License-Identifier: Apache-2.0
// How many bytes an object takes, by its type's layout and what stands in it: as __sizeof__ of Python's own types says,
// with the collector's header, rounded up as Python's allocator does. Buffers of numpy's arrays, of array.array
// and of io.BytesIO and StringIO count; what other C code allocates is not known.
//
// Layouts that changed between series are compared with __sizeof__ once (check_sizes()). Of a dict it is what one takes
// that was filled entry by entry.
//
// Context: heap inspector. Runs no code of the program.
#pragma once

#include <cstdint>

#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

// Context: heap inspector, once, before the first look.
void check_sizes(const Gil& gil);

class ObjectSizes {
 public:
  ObjectSizes(const Gil& gil, const KnownClasses& classes);
  uint64_t bytes(const Object* object);
  // By how much a dict takes less than bytes() says where all of its keys are texts.
  uint64_t less_with_text_keys(const Object* dict) const;
  // The same of an object of Python's own class of texts.
  uint64_t bytes_of_text(const Object* text) {
    // PyASCIIObject (Include/cpython/unicodeobject.h): length, hash, and bits, of which two say compact and ASCII.
    constexpr uint32_t kCompact = 1u << 5, kAscii = 1u << 6, kBoth = kCompact | kAscii;
    if (ascii_header_ == 0 || (field<uint32_t>(text, 32) & kBoth) != kBoth) return bytes(text);
    const uint64_t sum = ascii_header_ + field<uint64_t>(text, 16) + 1;
    return (sum + kRounding - 1) / kRounding * kRounding;
  }

 private:
  static constexpr uint64_t kRounding = 16;
  enum class Layout : uint8_t {
    fixed,
    variable,
    text,
    integer,
    bytearray,
    list,
    dict,
    ordered_dict,
    set,
    deque,
    ndarray,
    array,
    bytes_io,
    string_io
  };
  struct Remembered {
    const Object* type = nullptr;
    Layout layout = Layout::fixed;
    bool collected = false;
    uint32_t basic = 0, item = 0;
  };
  Remembered remember(Object* type) const;
  uint64_t beside_the_basic(const Object* object, const Remembered& type) const;

  const Gil& gil_;
  uint64_t ascii_header_ = 0;  // of a text; 0: its layout is not known
  Object* const array_;        // numpy.ndarray, null where its layout is not known
  Remembered recent_[1024];
};

}  // namespace tensorscope::python::heap_inspector
