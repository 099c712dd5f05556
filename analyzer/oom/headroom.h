// SPDX-License-Identifier: Apache-2.0
// Whether a request would fit once something is freed, on a device or on the host, and what is too little to matter.
//
// On the host a block of malloc's that is mapped by itself goes back to the system when it is freed, and what lies in
// malloc's heaps need not. Linear in the dump for each question at most. Not thread-safe. Units: bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "oom/balance.h"
#include "oom/free_memory.h"
#include "oom/freed.h"
#include "oom/running_code.h"

namespace tensorscope::analyzer::oom {

struct RemedyCase {
  const std::vector<View>& views;  // of one run in order of time, everything selected
  Device device;
  const FreeMemory& cached;
  const BalanceNode& balance;
  uint64_t request = 0;  // 0: no request failed
  const RunningCode& running;
};

class Headroom {
 public:
  explicit Headroom(const RemedyCase& about);

  const FitTest& device() const { return fit_; }
  const DeviceMemory* memory() const { return memory_; }  // null: the host's, or nothing is known
  uint64_t allocated() const { return allocated_; }       // by torch
  uint64_t least() const { return least_; }               // remedies that give less are left out
  // Whether the request is larger than the whole memory.
  bool too_large() const;

  Fits fits(const Freed& freed) const;
  // Of what is freed: bytes that a private pool keeps for its CUDA graph or MemPool.
  uint64_t in_private_pools(const Freed& freed) const;
  // `bytes` come back, but perhaps in pieces.
  Fits fits_at_most(uint64_t bytes, uint64_t request) const;
  Fits fits_at_most(uint64_t bytes) const { return fits_at_most(bytes, about_.request); }
  // Fills what is missing still where the answer is no; free pieces of the allocator count as well.
  void fill_missing(Remedy& remedy, uint64_t bytes, uint64_t request) const;
  void fill_missing(Remedy& remedy, uint64_t bytes) const { fill_missing(remedy, bytes, about_.request); }

 private:
  uint64_t left() const { return dump_.failure ? dump_.failure->left_bytes : 0; }
  bool host_possible() const;

  const RemedyCase& about_;
  const Dump& dump_;
  const DeviceMemory* memory_;
  const FitTest fit_;
  uint64_t allocated_ = 0, least_ = 0;
};

}  // namespace tensorscope::analyzer::oom
