// SPDX-License-Identifier: Apache-2.0
// A list that only grows, in chunks that never move: ids are indexes, and a reader never needs the writer's lock.
//
// Context: hook and collector. append() under the owner's lock; operator[] and size() by anyone, lock-free: an element
// is complete before size() counts it. A constinit global. Memory comes from a limited arena (support/arena.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/arena.h"

namespace tensorscope::stacks {

template <typename T, size_t kChunkItems, size_t kMaxChunks>
class AppendList {
 public:
  static constexpr size_t kFull = SIZE_MAX;

  // Index of the new element, or kFull: no memory, or the limit is reached.
  size_t append(Arena& arena, const T& item) {
    size_t index = size_.load(std::memory_order_relaxed);
    if (index == kChunkItems * kMaxChunks) return kFull;
    T* chunk = chunks_[index / kChunkItems].load(std::memory_order_relaxed);
    if (chunk == nullptr) {
      chunk = arena.allocate_array<T>(kChunkItems);
      if (chunk == nullptr) return kFull;
      chunks_[index / kChunkItems].store(chunk, std::memory_order_release);
    }
    chunk[index % kChunkItems] = item;
    size_.store(index + 1, std::memory_order_release);
    return index;
  }

  T& operator[](size_t index) {
    return chunks_[index / kChunkItems].load(std::memory_order_acquire)[index % kChunkItems];
  }
  size_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  std::atomic<size_t> size_{0};
  std::atomic<T*> chunks_[kMaxChunks]{};
};

}  // namespace tensorscope::stacks
