// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_code_table.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tensorscope::stacks {

namespace {

constexpr size_t kBytesSizeOffset = 16;  // PyBytesObject: PyVarObject.ob_size
constexpr size_t kBytesDataOffset = 32;  // PyBytesObject.ob_sval
constexpr size_t kLargestLineTable = size_t{64} << 20;

template <typename T>
T load(const void* base, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + offset, sizeof value);
  return value;
}

ModuleCall module_call(std::string_view file, std::string_view name) {
  if (!file.ends_with("torch/nn/modules/module.py")) return ModuleCall::none;
  name.remove_prefix(std::min(name.rfind('.') + 1, name.size()));
  if (name == "_wrapped_call_impl") return ModuleCall::wrapped;
  return name == "_call_impl" ? ModuleCall::plain : ModuleCall::none;
}

constinit const PythonCodeTable::Code kReserved[] = {
    {"", "<outer frames not recorded>", nullptr, 0, 0, ModuleCall::none},
    {"", "<made while stacks were not recorded>", nullptr, 0, 0, ModuleCall::none}};

}  // namespace

struct PythonCodeTable::Raw {
  PythonText file, name;
  const uint8_t* line_table = nullptr;
  size_t line_table_size = 0;
  int32_t first_line = 0;
  uint32_t fields = 0;

  uint32_t hash() const {
    XXH64_hash_t hash = XXH3_64bits(file.data, file.length * file.width);
    hash = XXH3_64bits_withSeed(name.data, name.length * name.width, hash);
    hash = XXH3_64bits_withSeed(line_table, line_table_size, hash + uint32_t(first_line));
    return mix_hash(hash);
  }
};

static uint32_t field_hash(const void* code, const PythonLayout& layout) {
  uint64_t hash = load<uint64_t>(code, layout.code_filename);
  hash = hash * 31 + load<uint64_t>(code, layout.code_name);
  hash = hash * 31 + load<uint64_t>(code, layout.code_line_table);
  return mix_hash(hash * 31 + load<uint32_t>(code, layout.code_first_line));
}

PythonCodeTable::Raw PythonCodeTable::read(const void* code, const PythonLayout& layout) {
  Raw raw;
  raw.file = read_text(load<const void*>(code, layout.code_filename), layout);
  raw.name = read_text(load<const void*>(code, layout.code_name), layout);
  const void* table = load<const void*>(code, layout.code_line_table);
  if (table != nullptr) {
    raw.line_table = static_cast<const uint8_t*>(table) + kBytesDataOffset;
    raw.line_table_size = std::min(load<size_t>(table, kBytesSizeOffset), kLargestLineTable);
  }
  raw.first_line = load<int32_t>(code, layout.code_first_line);
  raw.fields = field_hash(code, layout);
  return raw;
}

uint32_t PythonCodeTable::find_place(const void* code) const {
  return by_address_.find(mix_hash(reinterpret_cast<uintptr_t>(code)),
                          [&](uint32_t place) { return places_[place].address == code; });
}

uint32_t PythonCodeTable::find(const void* code, const PythonLayout& layout) const {
  uint32_t place = find_place(code);
  if (place == 0) return 0;
  uint32_t id = places_[place].code.load(std::memory_order_acquire);
  if (id == 0 || places_[place].fields.load(std::memory_order_relaxed) != field_hash(code, layout)) return 0;
  return id;
}

uint32_t PythonCodeTable::find_equal(uint32_t hash, const Raw& raw) {
  return by_content_.find(hash, [&](uint32_t id) {
    const Code& code = codes_[id];
    return code.first_line == raw.first_line && code.line_table_size == raw.line_table_size &&
           std::memcmp(code.line_table, raw.line_table, raw.line_table_size) == 0 && equals_utf8(raw.name, code.name) &&
           equals_utf8(raw.file, code.file);
  });
}

uint32_t PythonCodeTable::copy(uint32_t hash, const Raw& raw) {
  size_t file_size = utf8_size(raw.file), name_size = utf8_size(raw.name);
  char* memory = static_cast<char*>(arena_.allocate(file_size + name_size + 2 + raw.line_table_size, 1));
  if (memory == nullptr) return 0;
  char *file = memory, *name = file + file_size + 1, *table = name + name_size + 1;
  write_utf8(raw.file, file);
  write_utf8(raw.name, name);
  if (raw.line_table_size != 0) std::memcpy(table, raw.line_table, raw.line_table_size);
  Code code{file,
            name,
            reinterpret_cast<uint8_t*>(table),
            uint32_t(raw.line_table_size),
            raw.first_line,
            module_call({file, file_size}, {name, name_size})};
  size_t id = codes_.append(arena_, code);
  if (id == codes_.kFull || !by_content_.add(arena_, hash, uint32_t(id))) return 0;
  return uint32_t(id);
}

bool PythonCodeTable::ensure_first() {
  while (codes_.size() < std::size(kReserved)) {
    if (codes_.append(arena_, kReserved[codes_.size()]) == codes_.kFull) return false;
  }
  return places_.size() != 0 || places_.append(arena_, AddressEntry{}) != places_.kFull;
}

bool PythonCodeTable::make_reserved() {
  SpinGuard guard(lock_);
  return guard && ensure_first();
}

uint32_t PythonCodeTable::add(const void* code, const PythonLayout& layout) {
  Raw raw = read(code, layout);
  uint32_t hash = raw.hash();
  SpinGuard guard(lock_);
  if (!guard || !ensure_first()) return 0;
  uint32_t place = find_place(code);
  if (place == 0) {
    AddressEntry fresh;
    fresh.address = code;
    size_t index = places_.append(arena_, fresh);
    if (index == places_.kFull) return 0;
    place = uint32_t(index);
    if (!by_address_.add(arena_, mix_hash(reinterpret_cast<uintptr_t>(code)), place)) return 0;
  }
  uint32_t id = find_equal(hash, raw);
  if (id == 0) id = copy(hash, raw);
  places_[place].fields.store(raw.fields, std::memory_order_relaxed);
  places_[place].code.store(id, std::memory_order_release);
  return id;
}

void PythonCodeTable::forget(const void* code) {
  uint32_t place = find_place(code);
  if (place == 0 || places_[place].code.load(std::memory_order_relaxed) == 0) return;
  places_[place].code.store(0, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
}

const PythonCodeTable::Code& PythonCodeTable::operator[](uint32_t id) {
  return id < codes_.size() ? codes_[id] : kReserved[kLeftOut];
}

size_t PythonCodeTable::size() { return std::max(codes_.size(), size_t{1}); }

}  // namespace tensorscope::stacks
