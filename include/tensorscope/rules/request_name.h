// SPDX-License-Identifier: Apache-2.0
// The name of the file by which `tensorscope` requests something of a process without a signal. The name holds the
// process's id as it knows it itself (in its own pid namespace) and when it was started, so that a file that was left
// over never reaches another process.
//
// Who waits for a dump also makes an empty file for the answer: a process that refuses writes why into it, and nothing
// if there is none. The asker removes it. A line there is "NANOSECONDS REASON\n", the first by CLOCK_MONOTONIC when the
// refused request came: an older one answers somebody else.
//
// Context: any. No malloc. Units: `start_ticks` are field 22 of /proc/PID/stat.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include <cstddef>

namespace tensorscope::rules {

inline constexpr char kRequestFolder[] = "/dev/shm";
inline constexpr char kRequestDump[] = "dump";
inline constexpr char kRequestTop[] = "top";             // a dump that `top` removes after reading
inline constexpr char kRequestTopCheap[] = "top-cheap";  // the same without a look at Python's objects
inline constexpr char kRequestStop[] = "stop";
inline constexpr char kRequestStart[] = "start";
inline constexpr char kRequestStopAll[] = "stop-all";  // dumps too; "start" takes it back
inline constexpr char kRequestStopValues[] = "stop-values";
inline constexpr char kRequestStartValues[] = "start-values";
inline constexpr char kRequestRecord[] = "record";
inline constexpr char kRequestNoRecord[] = "no-record";

// What such a dump says about who asked for it: nobody else takes it for the dump they asked for.
inline constexpr char kDetailOfTop[] = "tensorscope top";

// A memfd that a process keeps to which tensorscope was attached: its settings, as tensorscope_attach() was given them.
inline constexpr char kSettingsName[] = "tensorscope-settings";

template <size_t size>
void request_file_name(unsigned pid, uint64_t start_ticks, char (&name)[size]) {
  snprintf(name, size, "tensorscope-request.%u.%llu", pid, static_cast<unsigned long long>(start_ticks));
}

template <size_t size>
void answer_file_name(unsigned pid, uint64_t start_ticks, char (&name)[size]) {
  snprintf(name, size, "tensorscope-answer.%u.%llu", pid, static_cast<unsigned long long>(start_ticks));
}

}  // namespace tensorscope::rules
