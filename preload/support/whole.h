// SPDX-License-Identifier: Apache-2.0
// A value that was found once or in parts, such as a layout of torch, and holds for the whole process. A forked child
// has it as it was set last, never half of it, although another thread may be in the middle of set() during the fork:
//
//     constinit Whole<NodeLayout> g_layout;
//     NodeLayout layout = g_layout.get();   // a copy to work on
//     ...
//     g_layout.set(layout);
//
// set() writes to the copy that nobody reads, and one word makes it the present one.
//
// Context: any. One thread sets at a time: the only one that does, or under a lock. A reader on another thread keeps no
// reference across two calls of set().
#pragma once

#include <atomic>
#include <cstddef>

namespace tensorscope {

template <typename T>
class Whole {
 public:
  constexpr Whole() = default;

  const T& get() const { return values_[present_.load(std::memory_order_acquire)]; }
  void set(const T& value) {
    const size_t other = 1 - present_.load(std::memory_order_relaxed);
    values_[other] = value;
    present_.store(other, std::memory_order_release);
  }

 private:
  T values_[2] = {};
  std::atomic<size_t> present_{0};
};

}  // namespace tensorscope
