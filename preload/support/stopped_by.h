// SPDX-License-Identifier: Apache-2.0
// Who has switched something off: its own switch (the program, `tensorscope stop`), or `tensorscope stop --all`. Each
// is taken back by itself, so that what the program switches on meanwhile stays off until all is started again.
//
// Context: any. One atomic word; no lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace tensorscope {

enum class StoppedBy : uint8_t { own_switch = 1, all = 2 };

class StopSwitch {
 public:
  constexpr StopSwitch() = default;
  bool is_off() const { return by_.load(std::memory_order_relaxed) != 0; }
  // True: it was on until now.
  bool stop(StoppedBy by) { return by_.fetch_or(uint8_t(by)) == 0; }
  // True: it is on from now on.
  bool start(StoppedBy by) { return by_.fetch_and(uint8_t(~uint8_t(by))) == uint8_t(by); }

 private:
  std::atomic<uint8_t> by_{0};
};

}  // namespace tensorscope
