// SPDX-License-Identifier: Apache-2.0
// A function of libc that the preload stands before, as the next library in the global scope defines it.
//
// Context: any; the first call looks the name up (dlsym), later ones cost one load.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace tensorscope::hooks {

template <typename Signature>
class LibcFunction {
 public:
  constexpr LibcFunction() = default;
  Signature* get(const char* name) {
    Signature* function = function_.load(std::memory_order_relaxed);
    if (__builtin_expect(function == nullptr, false)) {
      function = reinterpret_cast<Signature*>(dlsym(RTLD_NEXT, name));
      function_.store(function, std::memory_order_relaxed);
    }
    return function;
  }

 private:
  std::atomic<Signature*> function_{nullptr};
};

}  // namespace tensorscope::hooks
