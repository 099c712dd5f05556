// SPDX-License-Identifier: Apache-2.0
// Throws and catches; linked once with the shared C++ runtime and once with one of its own.
#include <exception>
#include <stdexcept>

// 0 where the runtime that began the exception is the one that ended it: each keeps an account of its own.
extern "C" int throw_and_catch() {
  int caught = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      throw std::runtime_error("caught");
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  return caught == 3 ? std::uncaught_exceptions() : -1;
}
