// SPDX-License-Identifier: Apache-2.0
// Another process whose threads are stopped by ptrace(2), and go on as if nothing had happened: system calls that were
// interrupted are restarted by the kernel. Linux, x86-64.
//
// All calls from one thread: ptrace knows its tracer by thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tensorscope::process {

class StoppedProcess {
 public:
  // Takes all threads; none is stopped yet. Throws ProcessError.
  explicit StoppedProcess(pid_t pid);
  // Lets every thread go that is still held.
  ~StoppedProcess();
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;

  // The first thread first. New ones are taken by stop().
  const std::vector<pid_t>& threads() const { return threads_; }

  // False: some thread does not stop within the time (it waits in the kernel, for a disk), or the process has ended.
  [[nodiscard]] bool stop(std::chrono::milliseconds most);
  void go_on();
  // Lets all threads go but this one, which stays stopped.
  void keep_only(pid_t thread);
  // Somebody else lets the threads go that are still held.
  void forget() { threads_.clear(); }
  bool has_ended() const { return ended_; }

 private:
  struct NoThreads {};
  // Holds none yet: what follows may throw, and this object lets go what it has taken.
  StoppedProcess(pid_t pid, NoThreads) : pid_(pid) {}
  // Throws ProcessError.
  void take_new_threads();
  bool wait_until_stopped(pid_t thread, std::chrono::steady_clock::time_point end);

  pid_t pid_;
  std::vector<pid_t> threads_;
  bool stopped_ = false, ended_ = false;
};

}  // namespace tensorscope::process
