// Which frames are this library's own, so that a stack begins with the caller of the hooked function.
//
// Context: any.
#pragma once

#include <cstdint>

namespace tensorscope::stacks {

// The code of the shared library that holds the profiler; an empty range where it is linked into a program (tests).
struct OwnCode {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool holds(uint64_t address) const { return address - begin < end - begin; }
};
OwnCode find_own_code();

}  // namespace tensorscope::stacks
