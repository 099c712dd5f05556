// SPDX-License-Identifier: Apache-2.0
// What a person calls a program, found from command lines.
//
// Context: activation. `arguments` holds zero-terminated strings one after the other, as /proc/PID/cmdline does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope {

// The script's name without .py, the module's after -m, or the binary's name. A Python given no script is "python".
void program_name(const char* executable, const char* arguments, size_t size, char* out, size_t out_size);

// True for a process that multiprocessing (spawn, fork server) or loky started to run functions of its parent's
// program: its own command line names nothing that a person would know.
bool is_helper_process(const char* arguments, size_t size);

// The name of the program that such a process works for: of the nearest ancestor from `parent` on that is no such
// process itself. `executable` is the caller's. `out` is left as it is where that ancestor is not there any more.
void name_of_launching_program(uint32_t parent, const char* executable, char* out, size_t out_size);

}  // namespace tensorscope
