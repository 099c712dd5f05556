// SPDX-License-Identifier: Apache-2.0
// What values of options mean (support/options.def), for who reads and writes them as text (support/option_values.h).
#pragma once

#include <cstdint>

namespace tensorscope {

enum class ExitDump : uint8_t { automatic, always, never };  // automatic: not in forked or multiprocessing children
enum class ChildDumps : uint8_t { grown, all, never };       // grown: since the dump before
enum class FindNanMode : uint8_t { off, on, stop };          // stop: ends the program there
enum class CuptiMode : uint8_t { off, memory, activity };    // activity: kernels and copies too

// A share of something or a number of bytes; neither: off.
struct ShareOrSize {
  uint32_t hundredths = 0;  // of a percent
  uint64_t bytes = 0;
  bool is_set() const { return hundredths != 0 || bytes != 0; }
  uint64_t of(uint64_t whole) const;  // bytes
};
struct ShareOfLimit : ShareOrSize {};  // less than all of it

// Which native stacks are recorded: where Python runs, only of blocks of at least so many bytes.
struct NativeStacks {
  bool on = true;
  uint64_t from_bytes = 0;
};

// What of a recording is kept: the last so many seconds, or as much of its end as fits into so many bytes; neither:
// all.
struct RecordWindow {
  uint64_t seconds = 0, bytes = 0;
  bool is_set() const { return seconds != 0 || bytes != 0; }
};

}  // namespace tensorscope
