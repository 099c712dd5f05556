// SPDX-License-Identifier: Apache-2.0
// What the profiler says to a person: lines on standard error, each "tensorscope: ..." in one write(2). Never standard
// output. Nothing is written where descriptor 2 was closed at the start, is closed, or is no longer what it was at the
// start (a program that closed all descriptors may have opened a data file as number 2), nor where nobody reads it. A
// thread with descriptors of its own has the line written on the program's side (programs_side.h). No SIGPIPE reaches
// the program.
//
// Context: any but signal handlers. No malloc; errno is left as it was.
#pragma once

#include <cstddef>

namespace tensorscope {

__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

// Called when the library is loaded, before the program can open a file of its own: if descriptor 2 is closed, it stays
// closed for the profiler.
void remember_closed_standard_error();

// Remembers what descriptor 2 is now. Called at activation: until then a program may have directed its standard error
// elsewhere.
void remember_standard_error();

// The text as it is, under the same conditions as say().
void write_standard_error(const char* text, size_t size);

}  // namespace tensorscope
