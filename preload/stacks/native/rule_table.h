// SPDX-License-Identifier: Apache-2.0
// The cache of unwind rules by return address: fixed size, lock-free, lossy.
//
// An entry is one 64-bit word, so a reader never sees half of one: 34 bits of the address and the 30 bits of the rule.
// The other 13 of the 47 address bits are the entry's place (a cache line of eight words): multiplication by an odd
// number modulo 2^47 is one to one, so no two addresses are ever taken for each other. A full line loses an old entry.
//
// Context: hook. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stacks/native/unwind_rule.h"
#include "support/spread_bits.h"

namespace tensorscope::stacks {

class RuleTable {
 public:
  static constexpr int kAddressBits = 47;  // user space of x86-64 with four-level page tables
  static constexpr int kLineBits = 13;
  static constexpr size_t kLineWords = 8;
  static constexpr size_t kBytes = (size_t{1} << kLineBits) * kLineWords * 8;

  // An unknown rule where the address is not in the table, odd where it cannot be.
  UnwindRule find(uint64_t address) const {
    const uint64_t key = scramble(address);
    const std::atomic<uint64_t>* line = line_of(key);
    const uint64_t tag = tag_of(key);
    for (size_t i = 0; i < kLineWords; ++i) {
      const uint64_t word = line[(tag + i) % kLineWords].load(std::memory_order_relaxed);
      if (word >> UnwindRule::kBits == tag && word != 0) {
        return UnwindRule::from_bits(uint32_t(word) & ((1u << UnwindRule::kBits) - 1));
      }
      if (word == 0) break;
    }
    return {};
  }

  void put(uint64_t address, UnwindRule rule);
  void clear();

 private:
  static constexpr uint64_t scramble(uint64_t address) {
    return spread_bits(address) & ((uint64_t{1} << kAddressBits) - 1);
  }
  const std::atomic<uint64_t>* line_of(uint64_t key) const {
    return words_ + (key >> (kAddressBits - kLineBits)) * kLineWords;
  }
  static constexpr uint64_t tag_of(uint64_t key) { return key & ((uint64_t{1} << (kAddressBits - kLineBits)) - 1); }

  alignas(64) std::atomic<uint64_t> words_[(size_t{1} << kLineBits) * kLineWords] = {};
};

}  // namespace tensorscope::stacks
