// SPDX-License-Identifier: Apache-2.0
// A sharded hash table from an object's address to a row: what the tables of tensors, allocations and autograd nodes
// are made of.
//
// 16 shards, each with its own bounded spin lock. A shard has rows, which never move (chunks from an arena; a freed row
// is the next to be used, so rows in use stay warm), and an index: open addressing with linear probing over 32-bit
// slots, each an 8-bit tag of the hash and a 24-bit row number. Together about nine bytes an entry beside the row. The
// index of a shard is rebuilt when it is 5/8 full, rows in order, so the longest pause at a million entries is that of
// rebuilding 64 thousand. Fewer shards stay in the caches, more let threads wait less (docs/overhead.md).
//
// Context: hook, collector. A row can be reached only through a Guard, which holds its shard's lock; a Guard that could
// not get the lock within the bound has called give_up_on_locks() and is false. At most one Guard at a time on a
// thread.
//
// Row derives from AddressRow and has `bool indexed() const`: a row in use that find() may find.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "live/lock_failure.h"
#include "support/arena.h"
#include "support/ids.h"
#include "support/locks/spin_lock.h"
#include "support/pages.h"
#include "support/spread_bits.h"

namespace tensorscope::live {

struct AddressRow {
  const void* key;             // while the row is free: number of the next free one
  std::atomic<Serial> serial;  // 0: the row is free. Written under the lock; may be read without it
};

// The rows of all tables. Apart from them, so that a table is all zero before its first event.
inline constinit Arena g_row_arena{Arena::Limit::none};

using RowId = uint32_t;  // shard and row number; 0: none

template <typename Row>
class AddressTable {
  struct Shard;
  struct Index;

 public:
  static constexpr unsigned kShards = 16;

  // Where a key is, or where it would be put.
  struct Position {
    Row* row = nullptr;  // null: the key is not in the table
    uint32_t number = 0;
    uint32_t slot = 0;
  };

  class Guard {
   public:
    Guard(AddressTable& table, const void* key) : Guard(table, table.prefetch_slot(hash_of(key))) {}
    static Guard of_row(AddressTable& table, RowId id) { return Guard(table, id >> kNumberBits); }
    ~Guard() {
      if (held_) shard_.lock.unlock();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    explicit operator bool() const { return __builtin_expect(held_, true); }
    unsigned shard() const { return number_; }

    Position find(const void* key) { return shard_.find(index_, key, hash_of(key)); }
    // The same for a key that most likely is not there.
    Position find_new(const void* key) { return shard_.find_new(index_, key, hash_of(key)); }
    // A row for a key that is not there; `place` is what find() just returned. The row has its key; the caller sets the
    // rest and the serial before the Guard ends. Null: no memory.
    Row* insert(const void* key, Position& place) { return shard_.insert(index_, key, hash_of(key), place); }
    // Takes the key out of the index and frees the row.
    void erase(const Position& place) {
      unlink(place);
      release(place.number);
    }
    // The two halves of erase(), for rows that outlive their key.
    void unlink(const Position& place) { shard_.unlink(index_, place.slot); }
    void release(uint32_t number) { shard_.release(index_, number); }

    static uint32_t number(RowId id) { return id & kNumberMask; }
    RowId id(const Position& place) const { return number_ << kNumberBits | place.number; }
    Row& row(RowId id) { return *shard_.row(number(id)); }

   private:
    Guard(AddressTable& table, unsigned number)
        : shard_(table.shards_[number]), index_(table.indexes_[number]), number_(number), held_(shard_.lock.lock()) {
      if (__builtin_expect(!held_, false)) give_up_on_locks();
    }
    Shard& shard_;
    Index& index_;
    unsigned number_;
    bool held_;
  };

  constexpr AddressTable() = default;

  // Brings what insert() with this key will touch into the cache.
  void prefetch(const void* key) {
    const uint64_t hash = hash_of(key);
    const unsigned number = prefetch_slot(hash);
    __builtin_prefetch(&shards_[number], 1);
    const auto next = reinterpret_cast<uintptr_t>(indexes_[number].next_row.load(std::memory_order_relaxed));
    __builtin_prefetch(reinterpret_cast<const void*>(next), 1);
    __builtin_prefetch(reinterpret_cast<const void*>(next + sizeof(Row) - 1), 1);
  }

  // Rows in use. Exact under lock_all().
  size_t size() const {
    size_t rows = 0;
    for (const Shard& shard : shards_) rows += shard.in_use.load(std::memory_order_relaxed);
    return rows;
  }

  // All locks, in order; false, and none held, where one could not be had.
  bool lock_all() NO_THREAD_SAFETY_ANALYSIS {
    for (unsigned i = 0; i < kShards; ++i) {
      if (shards_[i].lock.lock()) continue;
      while (i-- > 0) shards_[i].lock.unlock();
      return false;
    }
    return true;
  }
  void unlock_all() NO_THREAD_SAFETY_ANALYSIS {
    for (Shard& shard : shards_) shard.lock.unlock();
  }

  // Calls use(row, its number in its shard) for each row in use. Under lock_all().
  template <typename Use>
  void for_each(Use use) const {
    for (const Shard& shard : shards_) {
      shard.for_each(use);
    }
  }
  // The row of an id. Under lock_all().
  const Row& row(RowId id) const { return *shards_[id >> kNumberBits].row(id & kNumberMask); }

 private:
  static constexpr unsigned kNumberBits = 24;
  static constexpr uint32_t kNumberMask = (1u << kNumberBits) - 1;
  static constexpr uint32_t kMaxNumber = kNumberMask - 1;
  static constexpr uint32_t kEmpty = 0;
  static constexpr uint32_t kTombstone = ~0u;  // no row has the number kNumberMask
  static constexpr unsigned kChunkBits = 7;
  static constexpr uint32_t kChunkRows = 1u << kChunkBits;
  static constexpr uint32_t kFirstSlots = 1024;

  // Before the lock, which would be waited for first. Returns the shard.
  unsigned prefetch_slot(uint64_t hash) const {
    const unsigned number = shard_of(hash);
    const Index& index = indexes_[number];
    const uint32_t* slots = index.slots.load(std::memory_order_relaxed);
    __builtin_prefetch(slots + (hash & index.mask.load(std::memory_order_relaxed)), 1);
    return number;
  }

  static uint64_t hash_of(const void* key) {
    const auto product = static_cast<unsigned __int128>(reinterpret_cast<uintptr_t>(key)) * kGoldenRatio;
    return uint64_t(product) ^ uint64_t(product >> 64);
  }
  static unsigned shard_of(uint64_t hash) { return unsigned(hash >> 60); }
  static uint32_t tag_of(uint64_t hash) { return uint32_t(hash >> 50 & 0xff) << kNumberBits; }

  // Rows of 128 successive numbers, and which of them are in use: so that a table that was once large is walked
  // quickly.
  struct Chunk {
    Row* rows;
    uint64_t used[kChunkRows / 64];
  };

  // Of a shard, but apart from it: prefetch() reads these without the lock and is to find them in the cache.
  struct Index {
    std::atomic<uint32_t*> slots{nullptr};
    std::atomic<Row*> next_row{nullptr};  // that insert() will use; null: one that was never used
    std::atomic<uint32_t> mask{0};        // slots - 1
  };

  // One cache line, with the first chunk, which most programs never leave.
  struct alignas(64) Shard {
    SpinLock lock;
    uint32_t filled = 0;       // slots that are not empty, tombstones among them
    uint32_t free = 0;         // number of the first free row
    uint32_t linked = 0;       // slots that hold a row
    uint32_t numbers = 0;      // rows that were ever used: 1..numbers
    uint32_t most_filled = 0;  // then the index is rebuilt
    std::atomic<uint32_t> in_use{0};
    uint32_t chunk_room = 0;  // of more_chunks
    Chunk* more_chunks = nullptr;
    Chunk first_chunk{};

    // Of the row with this number.
    const Chunk& chunk(uint32_t number) const {
      const uint32_t i = (number - 1) >> kChunkBits;
      return __builtin_expect(i == 0, true) ? first_chunk : more_chunks[i - 1];
    }
    Chunk& chunk(uint32_t number) { return const_cast<Chunk&>(std::as_const(*this).chunk(number)); }
    Row* row(uint32_t number) const { return &chunk(number).rows[(number - 1) & (kChunkRows - 1)]; }
    void flip_used(uint32_t number) {
      const uint32_t i = (number - 1) & (kChunkRows - 1);
      chunk(number).used[i / 64] ^= uint64_t{1} << (i % 64);
    }

    // use(row, number) for each row in use.
    template <typename Use>
    void for_each(Use use) const {
      for (uint32_t begin = 0; begin < numbers; begin += kChunkRows) {
        const Chunk& rows_here = chunk(begin + 1);
        for (uint32_t word = 0; word < kChunkRows / 64; ++word) {
          for (uint64_t bits = rows_here.used[word]; bits != 0; bits &= bits - 1) {
            const uint32_t i = word * 64 + uint32_t(std::countr_zero(bits));
            use(rows_here.rows[i], begin + i + 1);
          }
        }
      }
    }

    Position find(const Index& index, const void* key, uint64_t hash) const {
      const uint32_t* slots = index.slots.load(std::memory_order_relaxed);
      if (__builtin_expect(slots == nullptr, false)) return {};
      const uint32_t wrap = index.mask.load(std::memory_order_relaxed);
      const uint32_t tag = tag_of(hash);
      bool reusable = false;
      uint32_t reuse = 0;
      for (uint32_t slot = uint32_t(hash) & wrap;; slot = (slot + 1) & wrap) {
        const uint32_t value = slots[slot];
        if (value == kEmpty) return {nullptr, 0, reusable ? reuse : slot};
        if (value == kTombstone) {
          if (!reusable) reuse = slot;
          reusable = true;
        } else if ((value & ~kNumberMask) == tag) {
          Row* candidate = row(value & kNumberMask);
          if (candidate->key == key) return {candidate, value & kNumberMask, slot};
        }
      }
    }

    // The first slot is empty for most keys that are not there.
    Position find_new(const Index& index, const void* key, uint64_t hash) const {
      const uint32_t* slots = index.slots.load(std::memory_order_relaxed);
      if (__builtin_expect(slots == nullptr, false)) return {};
      const uint32_t first = uint32_t(hash) & index.mask.load(std::memory_order_relaxed);
      if (__builtin_expect(slots[first] == kEmpty, true)) return {nullptr, 0, first};
      return find_out_of_line(index, key, hash);
    }
    [[gnu::noinline]] Position find_out_of_line(const Index& index, const void* key, uint64_t hash) const {
      return find(index, key, hash);
    }

    Row* insert(Index& index, const void* key, uint64_t hash, Position& place) {
      if (__builtin_expect(filled >= most_filled, false) && !make_room(index, key, hash, place)) return nullptr;
      const uint32_t number = __builtin_expect(free != 0, true) ? free : add_number();
      if (__builtin_expect(number == 0, false)) return nullptr;
      Row* const free_row = row(number);
      if (__builtin_expect(number == free, true)) {
        free = uint32_t(reinterpret_cast<uintptr_t>(free_row->key));
        index.next_row.store(__builtin_expect(free != 0, true) ? row(free) : nullptr, std::memory_order_relaxed);
      }
      uint32_t& slot = index.slots.load(std::memory_order_relaxed)[place.slot];
      filled += slot == kEmpty;
      ++linked;
      slot = tag_of(hash) | number;
      place.number = number;
      place.row = free_row;
      free_row->key = key;
      flip_used(number);
      in_use.store(in_use.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return free_row;
    }

    void unlink(Index& index, uint32_t slot) {
      uint32_t* slots = index.slots.load(std::memory_order_relaxed);
      const uint32_t wrap = index.mask.load(std::memory_order_relaxed);
      --linked;
      if (slots[(slot + 1) & wrap] != kEmpty) {
        slots[slot] = kTombstone;
        return;
      }
      // Nothing follows: no search needs this slot to go on, nor the tombstones before it.
      do {
        slots[slot] = kEmpty;
        --filled;
        slot = (slot - 1) & wrap;
      } while (slots[slot] == kTombstone);
    }

    void release(Index& index, uint32_t number) {
      Row* released = row(number);
      released->serial.store(0, std::memory_order_relaxed);
      released->key = reinterpret_cast<const void*>(uintptr_t{free});
      free = number;
      index.next_row.store(released, std::memory_order_relaxed);
      flip_used(number);
      in_use.store(in_use.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }

    // False: no memory for another index, and the one there is has no more room.
    [[gnu::noinline]] bool make_room(Index& index, const void* key, uint64_t hash, Position& place) {
      const uint32_t room =
          index.slots.load(std::memory_order_relaxed) == nullptr ? 0 : index.mask.load(std::memory_order_relaxed) + 1;
      if (!rebuild(index, room)) return filled + 2 <= room;  // a search ends at an empty slot: one must stay
      place = find(index, key, hash);
      return true;
    }

    // A new index with room for twice what is linked now or, where tombstones filled the old one, as large as before.
    bool rebuild(Index& index, uint32_t room) {
      const uint32_t new_room = room == 0 ? kFirstSlots : linked * uint64_t{16} > room * uint64_t{5} ? room * 2 : room;
      auto* fresh = static_cast<uint32_t*>(map_pages(size_t{new_room} * sizeof(uint32_t)));
      if (fresh == nullptr) return false;
      for_each([=](const Row& present, uint32_t number) {
        if (!present.indexed()) return;
        const uint64_t hash = hash_of(present.key);
        uint32_t slot = uint32_t(hash) & (new_room - 1);
        while (fresh[slot] != kEmpty) slot = (slot + 1) & (new_room - 1);
        fresh[slot] = tag_of(hash) | number;
      });
      unmap_pages(index.slots.load(std::memory_order_relaxed), size_t{room} * sizeof(uint32_t));
      index.slots.store(fresh, std::memory_order_relaxed);
      index.mask.store(new_room - 1, std::memory_order_relaxed);
      filled = linked;
      most_filled = new_room / 8 * 5;
      return true;
    }

    [[gnu::noinline]] uint32_t add_number() {
      if (numbers == kMaxNumber) return 0;
      if ((numbers & (kChunkRows - 1)) == 0 && !add_chunk()) return 0;
      return ++numbers;
    }

    bool add_chunk() {
      if (numbers >> kChunkBits == chunk_room + 1) {
        const uint32_t more = chunk_room == 0 ? 8 : chunk_room * 2;
        auto* directory = g_row_arena.allocate_array<Chunk>(more);
        if (directory == nullptr) return false;
        for (uint32_t i = 0; i < chunk_room; ++i) directory[i] = more_chunks[i];
        more_chunks = directory;
        chunk_room = more;
      }
      Chunk& added = chunk(numbers + 1);
      added.rows = g_row_arena.allocate_array<Row>(kChunkRows);
      return added.rows != nullptr;
    }
  };

  Shard shards_[kShards];
  Index indexes_[kShards];
  static_assert(sizeof(Shard) == 64);
};

}  // namespace tensorscope::live
