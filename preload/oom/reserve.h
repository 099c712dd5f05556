// SPDX-License-Identifier: Apache-2.0
// Address space kept for the moment at which there is none: what a dump allocates at the least, given back to the
// system when a dump of a failure begins. It is never touched, so it costs no memory; it does count against RLIMIT_AS.
//
// Context: activation, the failing thread (perhaps several), the forked child. A constinit global.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope::oom {

// Where the address space is tight, nothing is held: it would be what the program lacks.
void hold_reserve();

// How much of a reserve of so many bytes helps where the process may still map `left` bytes by itself.
size_t reserve_to_give_back(size_t bytes, uint64_t left);

// The reserve is gone while one of these stands, and is taken again with the last one, as far as there is room.
class ReserveInUse {
 public:
  ReserveInUse();
  ~ReserveInUse();
  ReserveInUse(const ReserveInUse&) = delete;
  ReserveInUse& operator=(const ReserveInUse&) = delete;
};

}  // namespace tensorscope::oom
