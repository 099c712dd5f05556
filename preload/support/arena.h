// SPDX-License-Identifier: Apache-2.0
// Memory that is allocated once and never freed: for table rows, tries, interned texts.
//
// Context: any but signal handlers. Lock-free (a fork never finds it locked), no malloc, no constructor to run: an
// arena is a constinit global. Takes chunks from the system (pages.h); an allocation is zeroed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tensorscope {

class Arena {
 public:
  // Limited arenas share Options::max_memory: stacks, sites, code. What grows with the number of live entries is
  // unlimited.
  // (max_memory is 0, so that an object with such an arena is all zero: it costs no bytes of the file.)
  enum class Limit : bool { max_memory, none };

  constexpr explicit Arena(Limit limit = Limit::max_memory) : limit_(limit) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Null where the limit is reached or the system has no memory. `alignment`: a power of two up to 4096.
  void* allocate(size_t bytes, size_t alignment = 8);

  template <typename T>
  T* allocate_array(size_t count) {
    return count > SIZE_MAX / sizeof(T) ? nullptr : static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
  }

  // A copy with a terminating zero, or null.
  const char* copy(std::string_view text);

  // Taken from the system by this arena.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Chunk;
  Chunk* new_chunk(size_t bytes);

  std::atomic<Chunk*> current_{nullptr};
  std::atomic<uint64_t> bytes_{0};
  Limit limit_;
};

// Taken by all limited arenas together: what Options::max_memory bounds.
uint64_t limited_arena_bytes();

}  // namespace tensorscope
