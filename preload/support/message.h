// What the profiler says to a person: lines on standard error, each "tensorscope: ..." in one write(2). Never standard
// output. Nothing is written where descriptor 2 is closed or is no longer what it was at activation (a program that
// closed all descriptors may have opened a data file as number 2), nor where nobody reads it. No SIGPIPE reaches the
// program.
//
// Context: any but signal handlers. No malloc; errno is left as it was.
#pragma once

#include <cstddef>

namespace tensorscope {

__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

// Remembers what descriptor 2 is. Called once at activation (parse_options).
void remember_standard_error();

// The text as it is, under the same conditions as say().
void write_standard_error(const char* text, size_t size);

}  // namespace tensorscope
