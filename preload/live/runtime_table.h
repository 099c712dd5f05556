// SPDX-License-Identifier: Apache-2.0
// Every live block that was taken from the CUDA runtime by a call that the preload saw: segments of torch's caching
// allocator, pinned host memory, and what other libraries allocate.
//
// Context: hook, collector. An event holds one shard's lock for well under a microsecond. The key is the pointer alone:
// device and host memory of one process share one address space (CUDA C++ Programming Guide, Unified Virtual
// Addressing).
#pragma once

#include <cstddef>
#include <cstdint>

#include "live/address_table.h"
#include "live/entries.h"
#include "live/serials.h"
#include "live/tensor_table.h"
#include "support/ids.h"

namespace tensorscope::live {

enum class RuntimeKind : uint8_t { device = 0, async = 1, pinned = 2, registered = 3, managed = 4 };  // = format::

struct RuntimeBlock {
  const void* pointer = nullptr;
  uint64_t nbytes = 0;
  RuntimeKind kind = RuntimeKind::device;
  Device device;               // the CPU: host memory
  bool by_torch = false;       // called by torch's allocator
  bool is_allocation = false;  // and torch's allocator reports nothing: the block is in the table of allocations, too
};

struct RuntimeRow : AddressRow {
  uint64_t nbytes;
  uint64_t created_ns;
  SiteId site;
  uint32_t thread : 24;
  uint32_t kind : 6;
  uint32_t by_torch : 1;
  uint32_t is_allocation : 1;
  Device device;
  bool indexed() const { return true; }
};
static_assert(sizeof(RuntimeRow) == 48);

class RuntimeTable {
 public:
  constexpr RuntimeTable() = default;

  // A block that is still there is replaced: its end was missed, or one call of the runtime made another.
  Inserted add(const RuntimeBlock& block, const Origin& origin);
  // Takes the block out; one with a null pointer where there is none.
  RuntimeBlock remove(const void* pointer, Removed& removed);

  void prefetch(const void* pointer) { table_.prefetch(pointer); }
  bool lock_all() { return table_.lock_all(); }
  void unlock_all() { table_.unlock_all(); }
  size_t size() const { return table_.size(); }
  // Under lock_all(): writes size() entries, in no order.
  void copy(RuntimeEntry* out) const;

 private:
  using Table = AddressTable<RuntimeRow>;
  Table table_;
};

extern RuntimeTable g_runtime_blocks;

}  // namespace tensorscope::live
