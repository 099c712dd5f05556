// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/rule_table.h"

namespace tensorscope::stacks {

void RuleTable::put(uint64_t address, UnwindRule rule) {
  if (address >> kAddressBits != 0) return;
  const uint64_t key = scramble(address);
  const uint64_t tag = tag_of(key);
  const uint64_t word = tag << UnwindRule::kBits | rule.bits();
  auto* line = const_cast<std::atomic<uint64_t>*>(line_of(key));
  for (size_t i = 0; i < kLineWords; ++i) {
    std::atomic<uint64_t>& place = line[(tag + i) % kLineWords];
    uint64_t present = place.load(std::memory_order_relaxed);
    if (present == 0 && place.compare_exchange_strong(present, word, std::memory_order_relaxed)) return;
    if (present >> UnwindRule::kBits == tag) return place.store(word, std::memory_order_relaxed);
  }
  line[tag % kLineWords].store(word, std::memory_order_relaxed);
}

void RuleTable::clear() {
  for (std::atomic<uint64_t>& word : words_) word.store(0, std::memory_order_relaxed);
}

}  // namespace tensorscope::stacks
