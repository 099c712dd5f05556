// SPDX-License-Identifier: Apache-2.0
#include "support/arena.h"

#include <cstring>

#include "support/coverage.h"
#include "support/options.h"
#include "support/pages.h"

namespace tensorscope {

namespace {

constexpr size_t kChunkBytes = size_t{256} << 10;

constinit std::atomic<uint64_t> g_limited{0};

bool limit_is_reached() {
  for (const Subject subject : {Subject::native_stacks, Subject::python_stacks}) {
    if (coverage(subject).seen.load(std::memory_order_acquire) != Seen::yes) continue;
    set_coverage(subject, Seen::partly, "TENSORSCOPE_MAX_STACK_MEMORY is used up: new stacks are left out");
  }
  return false;
}

bool take_from_limit(uint64_t bytes) {
  const uint64_t limit = options().max_memory;
  uint64_t taken = g_limited.load(std::memory_order_relaxed);
  do {
    if (bytes > limit || taken > limit - bytes) return limit_is_reached();
  } while (!g_limited.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  return true;
}

}  // namespace

struct Arena::Chunk {
  size_t size;
  std::atomic<size_t> used;
  // Null where the rest of the chunk is too small.
  void* take(size_t bytes, size_t alignment) {
    size_t begin = used.load(std::memory_order_relaxed);
    size_t aligned;
    do {
      aligned = (begin + alignment - 1) & ~(alignment - 1);
      if (aligned > size || bytes > size - aligned) return nullptr;
    } while (!used.compare_exchange_weak(begin, aligned + bytes, std::memory_order_relaxed));
    return reinterpret_cast<char*>(this) + aligned;
  }
};

Arena::Chunk* Arena::new_chunk(size_t bytes) {
  if (limit_ == Limit::max_memory && !take_from_limit(bytes)) return nullptr;
  auto* chunk = static_cast<Chunk*>(map_pages(bytes));
  if (chunk == nullptr) {
    if (limit_ == Limit::max_memory) g_limited.fetch_sub(bytes, std::memory_order_relaxed);
    return nullptr;
  }
  chunk->size = bytes;
  chunk->used.store(sizeof(Chunk), std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return chunk;
}

void* Arena::allocate(size_t bytes, size_t alignment) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  if (bytes + alignment + sizeof(Chunk) > kChunkBytes / 4) {  // a large one gets pages of its own
    Chunk* own = new_chunk((bytes + alignment + sizeof(Chunk) + 4095) & ~size_t{4095});
    return own == nullptr ? nullptr : own->take(bytes, alignment);
  }
  Chunk* chunk = current_.load(std::memory_order_acquire);
  if (chunk != nullptr) {
    if (void* memory = chunk->take(bytes, alignment)) return memory;
  }
  Chunk* fresh = new_chunk(kChunkBytes);
  if (fresh == nullptr) return nullptr;
  void* memory = fresh->take(bytes, alignment);
  // Where another thread was quicker, its chunk stays the current one and the rest of this one goes unused: pages that
  // are never touched.
  current_.compare_exchange_strong(chunk, fresh, std::memory_order_acq_rel);
  return memory;
}

const char* Arena::copy(std::string_view text) {
  auto* memory = static_cast<char*>(allocate(text.size() + 1, 1));
  if (memory != nullptr) std::memcpy(memory, text.data(), text.size());
  return memory;
}

uint64_t limited_arena_bytes() { return g_limited.load(std::memory_order_relaxed); }

}  // namespace tensorscope
