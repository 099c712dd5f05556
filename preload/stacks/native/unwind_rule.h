// SPDX-License-Identifier: Apache-2.0
// How to get from one frame to its caller: the part of the unwind table that x86-64 code nearly always uses, in 30
// bits.
//
//   CFA            = (RSP or RBP) + a multiple of 8
//   return address = [CFA - 8]
//   caller's RSP   = CFA
//   caller's RBP   = RBP, or [CFA - 8 * n] where the function has saved it
//
// and the one expression that GCC writes, for a function that realigns its stack (vector code):
//
//   CFA = [RBP - 8 * n], caller's RBP = [RBP]
//
// Code that no table describes (a just-in-time compiler's, assembler) has a `guess`: that it keeps a frame pointer.
//
// Context: any: numbers alone.
//
// RSP, RBP: as they are in the frame right after the call it made has returned. What is more than this (other
// expressions, another register, a signal frame) is `odd`, and libunwind's business.
#pragma once

#include <cstdint>

namespace tensorscope::stacks {

class UnwindRule {
 public:
  static constexpr int kBits = 30;
  static constexpr uint32_t kMaxCfaWords = (1u << 22) - 1;
  static constexpr uint32_t kMaxBpWords = (1u << 6) - 1;

  constexpr UnwindRule() = default;  // not known
  static constexpr UnwindRule from_bits(uint32_t bits) { return UnwindRule(bits); }
  static constexpr UnwindRule special() { return UnwindRule(kSpecial); }
  static constexpr UnwindRule outermost() { return UnwindRule(kSpecial | 1u << 8); }
  static constexpr UnwindRule guess() { return UnwindRule(kSpecial | 3u << 8); }
  // `cfa_slot_words`: n of [RBP - 8 * n], 1 to kMaxBpWords.
  static constexpr UnwindRule realigned(uint32_t cfa_slot_words) {
    return UnwindRule(kSpecial | cfa_slot_words << 2 | 2u << 8);
  }
  // `bp_words`: 0 where RBP is the caller's, else n of [CFA - 8 * n].
  static constexpr UnwindRule relative(bool to_bp, uint32_t cfa_words, uint32_t bp_words) {
    return UnwindRule((to_bp ? kFromBp : kFromSp) | bp_words << 2 | cfa_words << 8);
  }

  constexpr uint32_t bits() const { return bits_; }
  constexpr bool known() const { return bits_ != 0; }
  constexpr bool is_relative() const { return (bits_ & 3) == kFromSp || (bits_ & 3) == kFromBp; }
  constexpr bool is_outermost() const { return bits_ == outermost().bits_; }
  constexpr bool is_guess() const { return bits_ == guess().bits_; }
  constexpr bool is_realigned() const { return (bits_ & 3) == kSpecial && bits_ >> 8 == 2; }
  constexpr bool from_bp() const { return (bits_ & 3) == kFromBp; }
  constexpr uint32_t cfa_words() const { return bits_ >> 8; }
  constexpr uint32_t bp_words() const { return bits_ >> 2 & 63; }
  constexpr uint32_t cfa_slot_words() const { return bp_words(); }
  constexpr bool operator==(const UnwindRule&) const = default;

 private:
  static constexpr uint32_t kFromSp = 1, kFromBp = 2, kSpecial = 3;
  constexpr explicit UnwindRule(uint32_t bits) : bits_(bits) {}
  uint32_t bits_ = 0;
};

}  // namespace tensorscope::stacks
