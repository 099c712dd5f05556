// SPDX-License-Identifier: Apache-2.0
// What the kernel says of a process: files below /proc/PID (proc(5)).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace tensorscope::analyzer {

// The whole file; nothing where there is no such process or it may not be read.
std::optional<std::string> read_process_file(pid_t pid, const std::string& name);

// A line of the text of /proc/PID/status, without its name; "" where there is none.
std::string status_field(const std::string& status, const std::string& name);

}  // namespace tensorscope::analyzer
