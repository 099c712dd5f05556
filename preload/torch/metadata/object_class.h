// SPDX-License-Identifier: Apache-2.0
// The C++ class of a polymorphic object, by its run-time type information alone: word 0 of the object is its vtable,
// vtable[-1] its std::type_info, whose second word is the mangled name (Itanium C++ ABI, 2.9.5).
//
// Nothing outside the segments of loaded objects is followed, so that a stale object gives no name instead of a fault.
//
// Context: collector; class_of may be called under a table lock (no malloc, no loader).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "torch/metadata/shared_object_map.h"

namespace tensorscope::torch {

class ObjectClasses {
 public:
  // Forgets everything: names live in shared objects, which may have been unloaded. `map` must outlive the use.
  void start(const SharedObjectMap* map);

  // Mangled name of the class that `vtable` (an object's first word) belongs to, "" if it is none.
  const char* by_vtable(uint64_t vtable);

  // The same for an object that is known to be readable.
  const char* of(const void* object);

  // Whether that class is `base` (a mangled name) or derives from it, as far as its type_info shows.
  bool derives_from(uint64_t vtable, const char* base);

 private:
  const char* read_name(uint64_t vtable) const;
  const char* read_type_name(uint64_t type) const;
  bool type_derives_from(uint64_t type, const char* base, int depth);

  struct Slot {
    uint64_t vtable = 0;
    const char* name = nullptr;
  };
  static constexpr size_t kSlots = 4096;  // a power of two; a program has some hundred classes of nodes and tensors
  Slot slots_[kSlots];
  const SharedObjectMap* map_ = nullptr;
};

// Classes of what the objects that are loaded at one moment define.
struct LoadedClasses {
  SharedObjectMap objects;
  ObjectClasses classes;
};

// Null: no memory. It is published by its pointer, so that a forked child has a whole one or none.
// Context: any thread that holds no lock of the tables.
std::unique_ptr<LoadedClasses> read_loaded_classes();

}  // namespace tensorscope::torch
