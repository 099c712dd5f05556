// SPDX-License-Identifier: Apache-2.0
// What is known of the values in storages of tensors, by the storage's address and that of its memory: who wrote them
// last, and whether they are known not to be finite.
//
// Context: any thread, not signal handlers. A fixed amount of memory; of what does not fit the oldest is forgotten.
#pragma once

#include <atomic>
#include <cstdint>

#include "support/locks/spin_lock.h"
#include "tensor_values/tensor_view.h"

namespace tensorscope::find_nan {

struct Mark {
  static constexpr uint8_t kBad = 1;         // holds NaN or infinities that an operation made
  static constexpr uint8_t kDeliberate = 2;  // holds infinities (or NaN) that the program put there
  static constexpr uint8_t kUnwritten = 4;   // memory that nobody has written, at least in part
  uint8_t flags = 0;
  uint8_t origin = 0;  // which of the possible findings its values come from; 0: none
};

class StorageMarks {
 public:
  constexpr StorageMarks() = default;

  // An operation wrote it. Not exact: a storage may be forgotten.
  void set_made(const tensor_values::TensorView& view) { slot(view).store(key(view), std::memory_order_relaxed); }
  bool is_made(const tensor_values::TensorView& view) const {
    return slot(view).load(std::memory_order_relaxed) == key(view);
  }

  bool any() const { return marked_.load(std::memory_order_relaxed) != 0; }
  // No mark: {}.
  Mark get(const tensor_values::TensorView& view);
  void set(const tensor_values::TensorView& view, const Mark& mark);

 private:
  static constexpr size_t kMade = size_t{1} << 15, kSets = 1024, kWays = 8;
  struct Entry {
    uint64_t key = 0;
    uint32_t age = 0;
    Mark mark;
  };

  static uint64_t key(const tensor_values::TensorView& view) {
    return (reinterpret_cast<uint64_t>(view.storage) * 0x9E3779B97F4A7C15u) ^
           (reinterpret_cast<uint64_t>(view.storage_data) * 0xC2B2AE3D27D4EB4Fu);
  }
  std::atomic<uint64_t>& slot(const tensor_values::TensorView& view) { return made_[key(view) >> 49]; }
  const std::atomic<uint64_t>& slot(const tensor_values::TensorView& view) const { return made_[key(view) >> 49]; }

  std::atomic<uint64_t> made_[kMade] = {};
  Entry entries_[kSets][kWays] GUARDED_BY(lock_);
  SpinLock lock_;
  std::atomic<uint32_t> marked_{0};
  uint32_t now_ GUARDED_BY(lock_) = 0;
};

}  // namespace tensorscope::find_nan
