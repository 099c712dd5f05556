// SPDX-License-Identifier: Apache-2.0
#include "support/thread_pointer.h"

#include <bit>

// The loader's (ELF Handling For Thread-Local Storage, section 3.4).
struct TlsIndex {
  unsigned long module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex* index);

namespace tensorscope {

ThreadVariables thread_variables(size_t module, size_t bytes) {
  if (module == 0 || bytes == 0) return {};
  TlsIndex first = {module, 0};
  return {static_cast<const uintptr_t*>(__tls_get_addr(&first)), bytes / sizeof(uintptr_t)};
}

void ThreadPointerFinder::add(const ThreadVariables& variables, uintptr_t said) {
  if (!wants(said) || offset() >= 0 || !lock_.try_lock()) return;
  if (variables.count == 0 || variables.count > kMaxWords) {
    give_up();
  } else {
    const int pointers = pointers_.load(std::memory_order_relaxed);
    const bool first = pointers == 0;
    if (said != 0) pointers_.store(pointers + 1, std::memory_order_relaxed);
    if (said == 0) ++nulls_;
    for (size_t i = 0; i * 64 < variables.count; ++i) {
      const size_t begin = i * 64, bits = variables.count - begin < 64 ? variables.count - begin : 64;
      uint64_t left = first ? ~uint64_t{0} >> (64 - bits) : possible_[i];
      for (uint64_t ask = left; ask != 0; ask &= ask - 1) {
        const int bit = std::countr_zero(ask);
        if (variables.words[begin + size_t(bit)] != said) left &= ~(uint64_t{1} << bit);
      }
      possible_[i] = left;
    }
    settle(variables.count);
  }
  lock_.unlock();
}

void ThreadPointerFinder::settle(size_t count) {
  int left = 0, at = -1;
  for (size_t i = 0; i * 64 < count; ++i) {
    left += std::popcount(possible_[i]);
    if (possible_[i] != 0) at = int(i * 64) + std::countr_zero(possible_[i]);
  }
  if (left == 0) return give_up();
  const bool enough = pointers_.load(std::memory_order_relaxed) >= kEnough && nulls_ >= kEnough;
  if (left == 1 && enough) offset_.store(at, std::memory_order_release);
}

void ThreadPointerFinder::give_up() {
  gave_up_.store(true, std::memory_order_relaxed);
  offset_.store(-1, std::memory_order_release);
}

}  // namespace tensorscope
