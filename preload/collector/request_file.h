// SPDX-License-Identifier: Apache-2.0
// Requests from outside without a signal, for programs that do something of their own at each SIGUSR1: a file in
// /dev/shm whose name holds this process's id and start, written by `tensorscope snapshot --no-signal`, `stop` and
// `start` (include/tensorscope/rules/request_name.h). The collector looks for it about once a second, which costs one
// open() of a file that is not there, in memory; nothing is kept open, and nothing runs in the program.
//
// Only what this process's user or root wrote counts.
//
// Context: collector.
#pragma once

#include <cstdint>

namespace tensorscope::collector {

struct Command;

inline constexpr unsigned kLookForRequestMs = 1000;

enum class Request : uint8_t { none, dump, top, top_cheap, stop_all, start, of_feature };
struct Asked {
  Request request = Request::none;
  const Command* command = nullptr;  // of a feature
};

// Takes the request that is there: its file is removed, which tells the asker that it was seen. What is to be switched
// on while all is stopped is none, and the asker is told so first.
Asked take_request_file();

// Tells who waits, if anybody does, why what was asked for then is not done (rules/request_name.h).
void answer_request(uint64_t requested_ns, const char* reason);

}  // namespace tensorscope::collector
