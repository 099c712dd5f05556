// SPDX-License-Identifier: Apache-2.0
#include "process/stopped_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/error.h"

namespace tensorscope::process {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (fs::directory_iterator at(fmt::format("/proc/{}/task", pid), error), end; !error && at != end;
       at.increment(error)) {
    threads.push_back(pid_t(std::atoi(at->path().filename().c_str())));
  }
  std::sort(threads.begin(), threads.end(),
            [pid](pid_t a, pid_t b) { return std::pair(a != pid, a) < std::pair(b != pid, b); });
  return threads;
}

std::string why_not_traced(pid_t pid, int error) {
  if (error == ESRCH) return fmt::format("process {} has ended.", pid);
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (error == EPERM && scope != 0) {
    return fmt::format(
        "not allowed to attach to process {}: kernel.yama.ptrace_scope is {}. Try again with sudo, or start the "
        "program "
        "with tensorscope run.",
        pid, scope);
  }
  return fmt::format("not allowed to attach to process {}: {}. Try again as its user, or with sudo.", pid,
                     strerror(error));
}

}  // namespace

StoppedProcess::StoppedProcess(pid_t pid) : StoppedProcess(pid, NoThreads{}) { take_new_threads(); }

StoppedProcess::~StoppedProcess() {
  if (threads_.empty()) return;
  if (!stopped_ && !stop(std::chrono::seconds(5)) && threads_.empty()) return;  // only a stopped thread can be let go
  for (const pid_t thread : threads_) ptrace(PTRACE_DETACH, thread, nullptr, 0);
}

void StoppedProcess::take_new_threads() {
  for (bool more = true; more;) {
    more = false;
    for (const pid_t thread : threads_of(pid_)) {
      if (std::find(threads_.begin(), threads_.end(), thread) != threads_.end()) continue;
      if (ptrace(PTRACE_SEIZE, thread, nullptr, PTRACE_O_TRACESYSGOOD) == 0) {
        threads_.push_back(thread);
        more = true;
      } else if (errno != ESRCH || thread == pid_) {
        throw analyzer::ProcessError(why_not_traced(pid_, errno));
      }
    }
  }
  if (threads_.empty()) throw analyzer::ProcessError(why_not_traced(pid_, ESRCH));
}

// A signal that the thread was about to get is given to it: it stops again before its next instruction.
bool StoppedProcess::wait_until_stopped(pid_t thread, Clock::time_point end) {
  for (;;) {
    int status = 0;
    const pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
    if (found < 0 || (found == thread && !WIFSTOPPED(status))) {
      std::erase(threads_, thread);
      ended_ = ended_ || thread == pid_;
      return !ended_;
    }
    if (found == thread) {
      if (status >> 16 == PTRACE_EVENT_STOP) return true;
      const int signal = WSTOPSIG(status);
      ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
      ptrace(PTRACE_CONT, thread, nullptr, signal == (SIGTRAP | 0x80) ? 0 : signal);
      continue;
    }
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

bool StoppedProcess::stop(std::chrono::milliseconds most) {
  const Clock::time_point end = Clock::now() + most;
  size_t stopped = 0;
  // A thread that still runs may start another.
  while (stopped < threads_.size()) {
    const std::vector<pid_t> fresh(threads_.begin() + ptrdiff_t(stopped), threads_.end());
    for (const pid_t thread : fresh) ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    for (const pid_t thread : fresh) {
      if (!wait_until_stopped(thread, end)) return false;
    }
    stopped = threads_.size();
    try {
      take_new_threads();
    } catch (const analyzer::ProcessError&) {
      return false;
    }
  }
  stopped_ = true;
  return !threads_.empty();
}

void StoppedProcess::go_on() {
  for (const pid_t thread : threads_) ptrace(PTRACE_CONT, thread, nullptr, 0);
  stopped_ = false;
}

void StoppedProcess::keep_only(pid_t thread) {
  for (const pid_t other : threads_) {
    if (other != thread) ptrace(PTRACE_DETACH, other, nullptr, 0);
  }
  threads_ = {thread};
}

}  // namespace tensorscope::process
