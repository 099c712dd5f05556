// The profiler's own log (TENSORSCOPE_LOG): what it found at start, what each dump did, why something is off.
//
// Context: activation, collector, bridge: never a hook's steady state or a signal handler (it formats and may call
// malloc). Costs one load where no log is asked for. The file is opened, appended to in one write and closed for each
// line, since a program may close all descriptors; lines of several processes may share a file.
#pragma once

#include <fmt/core.h>

namespace tensorscope {

enum class LogLevel { debug, info, warning, error };

bool log_is_on();
void write_log(LogLevel level, fmt::string_view format, fmt::format_args arguments);

template <typename... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (log_is_on()) write_log(level, format, fmt::make_format_args(arguments...));
}

}  // namespace tensorscope
