// SPDX-License-Identifier: Apache-2.0
// A captured native stack as a list, and libunwind's own answer for the same place to compare it with.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <vector>

#include "stacks/native/native_stack.h"

namespace tensorscope::stacks {

inline std::vector<uint64_t> addresses_of(StackId id) {
  std::vector<uint64_t> addresses;
  for (; id != 0; id = native_frame(id).parent) addresses.push_back(native_frame(id).address);
  return addresses;
}

// libunwind's unwinding of the own process, which shares no accessor with the preload's use of it.
inline int reference_backtrace(void** addresses, int size) {
  static const auto backtrace =
      reinterpret_cast<int (*)(void**, int)>(dlsym(dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL), "unw_backtrace"));
  return backtrace(addresses, size);
}

struct BothStacks {
  std::vector<uint64_t> captured;
  std::vector<uint64_t> reference;
  std::vector<uint64_t> in_full;  // as hooks capture: with the frame of both_stacks(), which is left out here
};

// Both stacks of the caller of this function, innermost frame first.
__attribute__((noinline)) inline BothStacks both_stacks(const Activation& activation = {}) {
  static void* addresses[4096];
  BothStacks both;
  void* caller = __builtin_return_address(0);
  both.captured = addresses_of(capture_native(caller, activation));
  both.in_full = addresses_of(capture_native(nullptr, activation));
  both.in_full.erase(both.in_full.begin());
  const int count = reference_backtrace(addresses, 4096);
  for (int i = 0; i < count; ++i) {
    if (!both.reference.empty() || addresses[i] == caller)
      both.reference.push_back(reinterpret_cast<uint64_t>(addresses[i]));
  }
  return both;
}

}  // namespace tensorscope::stacks
