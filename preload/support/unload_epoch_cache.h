// SPDX-License-Identifier: Apache-2.0
// What is known about loaded objects, good until one is unloaded: its addresses may then be another's.
//
// Context: any; lock-free but for unload_generation(). Thread-safe, with one writer at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tensorscope {

// Another number after each unloading of an object; never 0.
//
// Context: hook, where no lock of ours is held (as loaded_object.h). Takes the loader's second lock for a moment: some
// 50 ns.
uint64_t unload_generation();

// A few words with the generation in which they were written.
template <size_t kWords>
class UnloadEpochCache {
 public:
  struct Words {
    uint64_t at[kWords];
  };

  bool is_of(uint64_t generation) const { return generation_.load(std::memory_order_acquire) == generation; }

  // False: nothing of this generation, or a writer was here meanwhile.
  bool read(uint64_t generation, Words& words) const {
    if (!is_of(generation)) return false;
    for (size_t i = 0; i < kWords; ++i) words.at[i] = words_[i].load(std::memory_order_acquire);
    return generation_.load(std::memory_order_relaxed) == generation;
  }

  // Not twice in one generation.
  void write(uint64_t generation, const Words& words) {
    generation_.store(0, std::memory_order_relaxed);
    for (size_t i = 0; i < kWords; ++i) words_[i].store(words.at[i], std::memory_order_release);  // shows the 0 too
    generation_.store(generation, std::memory_order_release);
  }

 private:
  std::atomic<uint64_t> generation_{0};  // 0: nothing
  std::atomic<uint64_t> words_[kWords] = {};
};

}  // namespace tensorscope
