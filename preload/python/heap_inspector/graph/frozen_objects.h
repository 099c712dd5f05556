// SPDX-License-Identifier: Apache-2.0
// What gc.freeze() has hidden: no list of the collector that a program may ask for has these objects. They are in a
// ring of their own (the permanent generation), whose only other member is its head. An object of it leads to all.
//
// Each object has two words before it (PyGC_Head, Include/internal/pycore_gc.h): the next and the one before, with two
// bits of the collector's own. The ring is believed only if it leads back both ways, has as many objects as
// gc.get_freeze_count() says, and exactly one head, behind which lie a threshold and a count that are 0 where an object
// has its references. Seen in CPython 3.8 to 3.15.
//
// CPython 3.12 moves immortal objects there by itself: what the program can still see was not hidden by gc.freeze(),
// which takes all that there is.
//
// Context: heap inspector. Valid while the GIL is held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "python/heap_inspector/graph/type_fields.h"
#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

class FrozenObjects {
 public:
  // What this interpreter has, found from the dictionary of its modules, which is older than any call of gc.freeze().
  explicit FrozenObjects(const Gil& gil);
  // A ring of `count` objects, of which `member` should be one.
  FrozenObjects(Object* member, uint64_t count);

  // False: there are such objects, and they cannot be listed.
  bool known() const { return known_; }
  uint64_t count() const { return count_; }
  // Null: there are none.
  const Object* member() const {
    return count_ == 0 ? nullptr : reinterpret_cast<const Object*>(member_ + kHeaderBytes);
  }

  // Calls f(object) for each until f returns false. Returns false if it did.
  template <typename F>
  bool each(F f) const {
    if (!known_ || count_ == 0) return true;
    const char* at = member_;
    do {
      const char* const next = next_of(at);
      __builtin_prefetch(next);
      if (!is_head(at) && !f(reinterpret_cast<Object*>(const_cast<char*>(at) + kHeaderBytes))) return false;
      at = next;
    } while (at != member_);
    return true;
  }

 private:
  static constexpr ptrdiff_t kHeaderBytes = 16;
  static constexpr uintptr_t kFlags = 3;
  static const char* next_of(const char* header) {
    return reinterpret_cast<const char*>(field<uintptr_t>(header, 0) & ~kFlags);
  }
  static const char* previous_of(const char* header) {
    return reinterpret_cast<const char*>(field<uintptr_t>(header, 8) & ~kFlags);
  }
  static bool is_head(const char* header) { return field<uint64_t>(header, kHeaderBytes) == 0; }
  void find(Object* member, uint64_t count);
  bool is_whole(const char* member, uint64_t count) const;

  const char* member_ = nullptr;
  uint64_t count_ = 0;
  bool known_ = true;
};

}  // namespace tensorscope::python::heap_inspector
