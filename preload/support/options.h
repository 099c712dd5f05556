// SPDX-License-Identifier: Apache-2.0
// TENSORSCOPE_* environment variables: one table (options.def) from which this struct, the parsing, the help text and
// the dump's record come. A wrong value is one clear line on standard error and the default; so is an unknown variable.
//
// Context: parsed once at activation, so that a process without torch prints nothing; constant afterwards.
#pragma once

#include <cstdint>

#include "support/function_ref.h"

namespace tensorscope {

enum class ExitDump : uint8_t { automatic, always, never };  // automatic: not in forked or multiprocessing children
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

struct Options {
#define TENSORSCOPE_OPTION(field, variable, type, default_value, help) type field = default_value;
#include "support/options.def"
#undef TENSORSCOPE_OPTION
};

// Parses the environment, and prints the help where it is asked for. Safe without malloc; texts are copied, since a
// program may change its environment. `more`: settings that come before those of the environment, NAME=VALUE, each with
// its terminating zero, and an empty one; null: none.
void parse_options(const char* more = nullptr);
// The same at load, where the help is asked for: in a process without torch nothing else would print it.
void print_help_if_asked();
const Options& options();

// For the dump and the help: calls the visitor for each row of the table. `value` is the one that took effect, valid
// during the call; "" where a text is not set.
void visit_options(FunctionRef<void(const char* variable, const char* value, const char* help)> visitor);

}  // namespace tensorscope
