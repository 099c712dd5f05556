// SPDX-License-Identifier: Apache-2.0
#include "torch/metadata/object_class.h"

#include <string.h>

#include "support/enough_memory.h"

namespace tensorscope::torch {

namespace {

constexpr size_t kMaxName = 512;

uint64_t word_at(uint64_t address) {
  uint64_t word;
  memcpy(&word, reinterpret_cast<const void*>(address), sizeof(word));
  return word;
}

}  // namespace

void ObjectClasses::start(const SharedObjectMap* map) {
  map_ = map;
  for (Slot& slot : slots_) slot = Slot{};
}

const char* ObjectClasses::read_name(uint64_t vtable) const {
  if (vtable % 8 != 0 || vtable < 8 || !map_->readable(vtable - 8, 16)) return "";
  return read_type_name(word_at(vtable - 8));
}

const char* ObjectClasses::read_type_name(uint64_t type) const {
  if (type % 8 != 0 || !map_->readable(type, 16)) return "";
  const uint64_t name = word_at(type + 8);
  for (size_t length = 0; length < kMaxName && map_->readable(name + length, 1); ++length) {
    const char c = *reinterpret_cast<const char*>(name + length);
    if (c == 0) return length > 0 ? reinterpret_cast<const char*>(name) : "";
    if (c <= ' ' || c > '~') return "";
  }
  return "";
}

const char* ObjectClasses::by_vtable(uint64_t vtable) {
  if (vtable == 0) return "";
  size_t i = size_t((vtable >> 3) * 0x9E3779B97F4A7C15u >> 52) % kSlots;
  for (size_t probes = 0; probes < 64; ++probes, i = (i + 1) % kSlots) {
    Slot& slot = slots_[i];
    if (slot.vtable == vtable) return slot.name;
    if (slot.vtable == 0) {
      slot.name = read_name(vtable);
      __atomic_store_n(&slot.vtable, vtable, __ATOMIC_RELEASE);  // a forked child has the name, too
      return slot.name;
    }
  }
  return read_name(vtable);
}

const char* ObjectClasses::of(const void* object) {
  return object == nullptr ? "" : by_vtable(word_at(reinterpret_cast<uint64_t>(object)));
}

bool ObjectClasses::derives_from(uint64_t vtable, const char* base) {
  if (vtable % 8 != 0 || vtable < 8 || !map_->readable(vtable - 8, 16)) return false;
  return type_derives_from(word_at(vtable - 8), base, 0);
}

// __si_class_type_info: type_info (two words), base. __vmi_class_type_info: type_info, flags and base count (32 bits
// each), then a base and its offset for each (Itanium C++ ABI, 2.9.5).
bool ObjectClasses::type_derives_from(uint64_t type, const char* base, int depth) {
  constexpr int kMaxDepth = 16;
  constexpr char kOneBase[] = "N10__cxxabiv120__si_class_type_infoE";
  constexpr char kManyBases[] = "N10__cxxabiv121__vmi_class_type_infoE";
  if (depth == kMaxDepth || type % 8 != 0 || !map_->readable(type, 24)) return false;
  if (strcmp(read_type_name(type), base) == 0) return true;
  const char* kind = by_vtable(word_at(type));
  if (strcmp(kind, kOneBase) == 0) return type_derives_from(word_at(type + 16), base, depth + 1);
  if (strcmp(kind, kManyBases) != 0) return false;
  const uint64_t bases = word_at(type + 16) >> 32;
  for (uint64_t i = 0; i < bases && map_->readable(type + 24 + i * 16, 16); ++i) {
    if (type_derives_from(word_at(type + 24 + i * 16), base, depth + 1)) return true;
  }
  return false;
}

std::unique_ptr<LoadedClasses> read_loaded_classes() {
  std::unique_ptr<LoadedClasses> made;
  run_or_abandon_on_oom([&] { made = std::make_unique<LoadedClasses>(); });
  if (!made || !made->objects.refresh()) return nullptr;
  made->classes.start(&made->objects);
  return made;
}

}  // namespace tensorscope::torch
