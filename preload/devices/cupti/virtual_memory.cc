// SPDX-License-Identifier: Apache-2.0
#include "devices/cupti/virtual_memory.h"

#include <algorithm>

#include "support/clock.h"
#include "support/pages.h"
#include "support/spread_bits.h"

namespace tensorscope::cupti {

constinit VirtualMemory g_virtual_memory;

namespace {

constexpr size_t kMask = VirtualMemory::kRows - 1;
constexpr size_t kMaxUsed = VirtualMemory::kRows / 4 * 3;

size_t home_of(uint64_t key) { return size_t(spread_bits(key) >> 40) & kMask; }

// Parameters of the calls (generated_cuda_meta.h, 12.4 and 13.0).
struct CreateParameters {
  const uint64_t* handle;
  size_t nbytes;
  const int32_t* properties;  // CUmemAllocationProp: type, handle types, location type, location id
};
struct MapParameters {
  uint64_t address;
  size_t nbytes, offset;
  uint64_t handle;
};
struct UnmapParameters {
  uint64_t address;
  size_t nbytes;
};
constexpr int32_t kOnDevice = 1;  // CU_MEM_LOCATION_TYPE_DEVICE

}  // namespace

bool is_virtual_call(Domain domain, uint32_t call) {
  if (domain != Domain::driver) return false;
  switch (VirtualCall(call)) {
    case VirtualCall::create:
    case VirtualCall::release:
    case VirtualCall::map:
    case VirtualCall::unmap:
    case VirtualCall::retain:
      return true;
  }
  return false;
}

template <typename Row>
Row* VirtualMemory::Table<Row>::find(uint64_t key) const {
  if (rows == nullptr) return nullptr;
  size_t slot = home_of(key);
  while (rows[slot].key != 0 && rows[slot].key != key) slot = (slot + 1) & kMask;
  return rows[slot].key == key ? &rows[slot] : nullptr;
}

template <typename Row>
Row* VirtualMemory::Table<Row>::add(uint64_t key) {
  if (rows == nullptr || key == 0 || used >= kMaxUsed) return nullptr;
  size_t slot = home_of(key);
  while (rows[slot].key != 0 && rows[slot].key != key) slot = (slot + 1) & kMask;
  if (rows[slot].key == 0) ++used;
  rows[slot] = Row{};
  rows[slot].key = key;
  return &rows[slot];
}

// What stands behind the row moves up, unless that put it before its home.
template <typename Row>
void VirtualMemory::Table<Row>::remove(Row* row) {
  size_t hole = size_t(row - rows);
  for (size_t slot = (hole + 1) & kMask; rows[slot].key != 0; slot = (slot + 1) & kMask) {
    const size_t home = home_of(rows[slot].key);
    if (((slot - home) & kMask) < ((slot - hole) & kMask)) continue;
    rows[hole] = rows[slot];
    hole = slot;
  }
  rows[hole] = Row{};
  --used;
}

bool VirtualMemory::start() {
  if (pieces_.rows == nullptr) pieces_.rows = static_cast<Piece*>(map_pages(kRows * sizeof(Piece)));
  if (mappings_.rows == nullptr) mappings_.rows = static_cast<Mapping*>(map_pages(kRows * sizeof(Mapping)));
  return pieces_.rows != nullptr && mappings_.rows != nullptr;
}

void VirtualMemory::drop_unused(Piece* piece) {
  if (piece->handles == 0 && piece->mappings == 0) pieces_.remove(piece);
}

void VirtualMemory::created(uint64_t handle, uint64_t nbytes, int8_t device, SiteId site, uint64_t at_ns) {
  const SpinGuard guard(lock_);
  if (!guard) return;
  Piece* piece = pieces_.add(handle);
  if (piece == nullptr) {
    ++lost_;
    return;
  }
  piece->nbytes = nbytes;
  piece->at_ns = at_ns;
  piece->site = site;
  piece->device = device;
  piece->handles = 1;
}

void VirtualMemory::retained(uint64_t handle) {
  const SpinGuard guard(lock_);
  if (!guard) return;
  if (Piece* piece = pieces_.find(handle)) ++piece->handles;
}

void VirtualMemory::released(uint64_t handle) {
  const SpinGuard guard(lock_);
  if (!guard) return;
  Piece* piece = pieces_.find(handle);
  if (piece == nullptr || piece->handles == 0) return;
  --piece->handles;
  drop_unused(piece);
}

void VirtualMemory::mapped(uint64_t address, uint64_t nbytes, uint64_t handle) {
  const SpinGuard guard(lock_);
  if (!guard) return;
  Piece* piece = pieces_.find(handle);
  if (piece == nullptr) return;  // another process' memory, or older than the records
  Mapping* mapping = mappings_.add(address);
  if (mapping == nullptr) {
    ++lost_;
    return;
  }
  mapping->nbytes = nbytes;
  mapping->handle = handle;
  ++piece->mappings;
  if (piece->address == 0) piece->address = address;
}

// One call may undo several mappings that lie side by side.
void VirtualMemory::unmapped(uint64_t address, uint64_t nbytes) {
  const SpinGuard guard(lock_);
  if (!guard) return;
  const uint64_t end = address + nbytes;
  while (address < end) {
    Mapping* mapping = mappings_.find(address);
    if (mapping == nullptr || mapping->nbytes == 0) return;
    const Mapping undone = *mapping;
    mappings_.remove(mapping);
    address += undone.nbytes;
    Piece* piece = pieces_.find(undone.handle);
    if (piece == nullptr || piece->mappings == 0) continue;
    --piece->mappings;
    if (piece->address == undone.key) piece->address = 0;
    drop_unused(piece);
  }
}

size_t VirtualMemory::live() const {
  const SpinGuard guard(lock_);
  return guard ? pieces_.used : 0;
}

uint64_t VirtualMemory::lost() const {
  const SpinGuard guard(lock_);
  return guard ? lost_ : 0;
}

size_t VirtualMemory::copy(MemoryEvent* out, size_t room) const {
  const SpinGuard guard(lock_);
  if (!guard || pieces_.rows == nullptr) return 0;
  size_t count = 0;
  for (size_t i = 0; i < kRows && count < room; ++i) {
    const Piece& piece = pieces_.rows[i];
    if (piece.key == 0) continue;
    MemoryEvent& event = out[count++];
    event = MemoryEvent{};
    event.address = piece.address;
    event.nbytes = piece.nbytes;
    event.at_ns = piece.at_ns;
    event.site = piece.site;
    event.device = piece.device;
    event.kind = kPhysicalMemory;
  }
  return count;
}

void VirtualMemory::forget_in_child() {
  unmap_pages(pieces_.rows, kRows * sizeof(Piece));
  unmap_pages(mappings_.rows, kRows * sizeof(Mapping));
  pieces_ = {};
  mappings_ = {};
  lost_ = 0;
}

void virtual_call_ended(uint32_t call, const CallData& data, SiteId site) {
  if (data.returned == nullptr || *static_cast<const int*>(data.returned) != 0) return;
  switch (VirtualCall(call)) {
    case VirtualCall::create: {
      const auto& made = *static_cast<const CreateParameters*>(data.parameters);
      const int8_t device = made.properties[2] == kOnDevice ? int8_t(made.properties[3]) : int8_t(-1);
      return g_virtual_memory.created(*made.handle, made.nbytes, device, site, coarse_ns());
    }
    case VirtualCall::release:
      return g_virtual_memory.released(*static_cast<const uint64_t*>(data.parameters));
    case VirtualCall::retain:
      return g_virtual_memory.retained(**static_cast<const uint64_t* const*>(data.parameters));
    case VirtualCall::map: {
      const auto& made = *static_cast<const MapParameters*>(data.parameters);
      return g_virtual_memory.mapped(made.address, made.nbytes, made.handle);
    }
    case VirtualCall::unmap: {
      const auto& undone = *static_cast<const UnmapParameters*>(data.parameters);
      return g_virtual_memory.unmapped(undone.address, undone.nbytes);
    }
  }
}

}  // namespace tensorscope::cupti
