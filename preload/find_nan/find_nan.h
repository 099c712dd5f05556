// SPDX-License-Identifier: Apache-2.0
// --find-nan: looks at the results of every operation and names the first one that makes a NaN or an infinity out of
// finite inputs, told apart from those that pass it on.
//
// What is in tensors on the CPU is read where it lies. A result that is not finite makes its operation the origin
// where no input holds such a value; what inputs an operation has overwritten were like is known, since all that was
// written before was looked at too. Within one operation of the program (and one node of a backward pass) other
// operations may make a NaN and replace it: only what is left at its end counts.
#pragma once

namespace tensorscope::find_nan {

struct FindNanActions {
  void (*write_dump)() = nullptr;  // and waits for it
};

// Does nothing unless TENSORSCOPE_FIND_NAN is set. Context: activation.
void start_find_nan(const FindNanActions& actions);

// Says what is still held back, and how it went. Context: the end of the process.
void finish_find_nan();

// The status with which --find-nan=stop ends the program.
inline constexpr int kFoundNanStatus = 99;

}  // namespace tensorscope::find_nan
