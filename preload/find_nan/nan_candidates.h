// SPDX-License-Identifier: Apache-2.0
// Findings of --find-nan that may turn out to be none: what is left of them at the end of the outermost operation, and
// in a backward pass at the end of the node, decides. The first one that is confirmed is reported; after an infinity
// the first NaN is, too. The others are counted.
//
// Context: any thread that runs operations, not signal handlers. A fixed amount of memory, one lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "find_nan/nan_report.h"
#include "support/function_ref.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::find_nan {

class NanCandidates {
 public:
  // Fills a finding in, under the lock.
  using Describe = FunctionRef<void(Finding& out)>;

  constexpr NanCandidates() = default;

  // An operation of `thread` made it, in a backward pass in `node` (else null). Its number; 0: no room.
  uint8_t add(const void* thread, const void* node, Describe describe);
  // What was made within an operation turned out to be meant.
  void drop_within(uint8_t origin);
  // An overflow that a loss scaler has seen: all of backward passes are none.
  void drop_backward();

  // Each of these: true where the caller is the one that has to say what was confirmed.
  // The outermost operation of `thread` is over: what was made within is left in its results, or was replaced.
  bool settle(const void* thread, bool any_bad);
  // The node that made it is over, and it is still there. `expected`: in a program that scales its loss an overflow is,
  // until an optimizer changes parameters all the same: it is held until then.
  bool end_node(uint8_t origin, bool expected);
  bool confirm_held();
  bool confirm_at_once(Describe describe);

  // Whether it was made in another node than `node`, and nobody knows yet whether that node has replaced it.
  bool waits_for_node(uint8_t origin, const void* node);
  bool any_open() const { return open_.load(std::memory_order_relaxed) != 0; }

  // Returns the finding to report; valid until mark_reported().
  Finding& pending() { return said_; }
  void mark_reported() { saying_.store(false, std::memory_order_relaxed); }
  bool all_reported() const { return nan_reported() || closed_.load(std::memory_order_relaxed); }
  bool nan_reported() const { return nan_reported_.load(std::memory_order_relaxed); }
  bool infinity_reported() const { return infinity_reported_.load(std::memory_order_relaxed); }
  // No further one is wanted. False: that was known.
  bool close() { return !closed_.exchange(true); }
  void count_unreported() { later_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t later() const { return later_.load(std::memory_order_relaxed); }

 private:
  enum class Stage : uint8_t { free, in_operation, in_node, held };
  struct Possible {
    Stage stage = Stage::free;
    uint8_t origin = 0;
    const void* thread = nullptr;
    const void* node = nullptr;
    Finding finding;
  };
  static constexpr int kMax = 8;

  Possible* find(uint8_t origin) REQUIRES(lock_);
  Possible* make() REQUIRES(lock_);
  Possible* open(const void* thread, const void* node, Describe describe) REQUIRES(lock_);
  void free(Possible& possible) REQUIRES(lock_);
  bool confirm(Possible& possible) REQUIRES(lock_);

  SpinLock lock_;
  Possible all_[kMax] GUARDED_BY(lock_);
  uint8_t last_origin_ GUARDED_BY(lock_) = 0;
  Finding said_;  // of whoever has set saying_
  std::atomic<int> open_{0};
  std::atomic<bool> saying_{false}, nan_reported_{false}, infinity_reported_{false}, closed_{false};
  std::atomic<uint64_t> later_{0};
};

}  // namespace tensorscope::find_nan
