// SPDX-License-Identifier: Apache-2.0
// Calls of functions in a stopped thread of another process, after which the thread is as it was: its registers, those
// of the floating point unit, its signal mask, errno and the system call that it was in.
//
// The calls run on memory of their own, mapped for them. Should this program end in the middle, the thread comes back
// by itself, as from a signal handler. Linux, x86-64.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tensorscope::process {

// Addresses in the other process.
struct RemoteFunctions {
  uint64_t open_library = 0;    // dlopen
  uint64_t open_mode = 0;       // its second argument
  uint64_t last_error = 0;      // dlerror; 0: libc has none
  uint64_t errno_location = 0;  // __errno_location
  uint64_t system_call = 0;     // an instruction `syscall`
};

class RemoteThread {
 public:
  // `thread` is stopped at a place where functions may be called (thread_places.h). Maps the memory. Throws
  // ProcessError; the thread then goes on as it was.
  RemoteThread(pid_t thread, const RemoteFunctions& functions);
  // Unmaps the memory, restores the thread, and lets it go.
  ~RemoteThread();
  RemoteThread(const RemoteThread&) = delete;
  RemoteThread& operator=(const RemoteThread&) = delete;

  // Where the bytes are in the memory; 0: it is full.
  uint64_t put(const std::string& bytes);
  std::string get_text(uint64_t address, size_t most = 4096) const;

  // Throws ProcessError: it did not return in that time, it crashed (the thread is restored), or the process has ended.
  uint64_t call(uint64_t function, const std::vector<uint64_t>& arguments, std::chrono::milliseconds most);

 private:
  struct State;
  explicit RemoteThread(State* state) : state_(state) {}

  State* state_;
};

}  // namespace tensorscope::process
