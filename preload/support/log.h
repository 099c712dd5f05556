// SPDX-License-Identifier: Apache-2.0
// The profiler's own log (TENSORSCOPE_LOG): what it found at start, what each dump did, why something is off, and every
// line that say() prints.
//
// A line waits in a buffer of fixed size. The collector writes what waits within a second, and what waits at the end of
// the process before that; a process that is killed loses it. The file is opened, appended to and closed each time,
// since a program may close all descriptors; several processes may share a file.
//
// Context: log(): any but signal handlers; no malloc, no file, no lock is taken under its own. Costs one load if no log
// is wanted. write_log(): collector, or a thread that stands in for it.
#pragma once

#include <fmt/core.h>

#include <string_view>

namespace tensorscope {

enum class LogLevel { debug, info, warning, error };

inline constexpr size_t kLogLineBytes = 1024;  // longer lines are cut

// Lines are kept from the beginning on, since options are read only after some may have been written.
bool log_is_on();
// The options are known now. Context: activation.
void start_log();

void queue_log_line(LogLevel level, std::string_view text);

void format_log_line(LogLevel level, fmt::string_view format, fmt::format_args arguments);

template <typename... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (log_is_on()) format_log_line(level, format, fmt::make_format_args(arguments...));
}

// Whether the log goes where say() writes: then the log leaves out what say() writes.
bool log_is_standard_error();

// Writes the lines that wait.
void write_log();
// Whether any may wait. Any context.
bool log_lines_wait();

}  // namespace tensorscope
