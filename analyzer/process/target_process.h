// SPDX-License-Identifier: Apache-2.0
// Another process as /proc shows it: whether tensorscope is awake in it, how to send it a request, and where its dumps
// will appear. Linux only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tensorscope::process {

// How a process gets a request: by its signal, or by a file that its collector thread looks for (rules/request_name.h).
enum class RequestMethod { signal, file };

class TargetProcess {
 public:
  // Opens the process and checks that it would answer. Nothing is ever sent by it. Throws ProcessError.
  [[nodiscard]] static TargetProcess open(pid_t pid, RequestMethod by);
  TargetProcess(TargetProcess&& other) noexcept;
  TargetProcess& operator=(TargetProcess&&) = delete;
  ~TargetProcess();

  pid_t pid() const { return pid_; }
  int signal() const { return signal_; }
  // Its process id in its own and all outer pid namespaces: one of them stands in its dumps.
  const std::vector<pid_t>& pids() const { return pids_; }
  // Folders, as this process reaches them, one of which the dump will be written to.
  const std::vector<std::string>& directories() const { return directories_; }

  // Whether the program has a handler of its own for the signal, which would run too.
  bool has_own_handler() const { return own_handler_; }

  // Sends the signal to this very process, whatever has become of its id. Throws ProcessError.
  void ask() const;
  // Writes the request file (`what`: rules::kRequestDump and others). Throws ProcessError.
  void ask_by_file(const char* what) const;
  // Whether the process has taken the file. `withdraw()`: removes it where not.
  bool file_taken() const;
  void withdraw() const;
  // Makes an empty file for the answer, before the request, and returns the time (CLOCK_MONOTONIC). If the
  // file cannot be made, no answer will come.
  uint64_t expect_answer() const;
  // Returns "process 4242 refuses: ..." if it has refused a request since then; nothing: no answer by now.
  // `forget_answer()`: removes the file.
  [[nodiscard]] std::optional<std::string> refusal(uint64_t asked_ns) const;
  void forget_answer() const;
  bool alive() const;

 private:
  explicit TargetProcess(pid_t pid) : pid_(pid) {}
  void find_directories(const std::vector<std::string>& environment);
  // The collector thread is there; sets own_handler_.
  bool has_collector();
  std::string request_path() const;
  std::string answer_path() const;
  // A file of the process's user.
  int make_file(const std::string& path, int flags) const;

  pid_t pid_;
  bool own_handler_ = false;
  int descriptor_ = -1;  // pidfd
  int signal_ = 0;
  std::vector<pid_t> pids_;
  std::vector<std::string> directories_;
};

// Returns once the collector of a process shows the settings that it was attached to with, on which every request
// rests; false: it has not within five seconds.
bool wait_for_settings_of_attach(pid_t pid);

// Processes that `pid` started and that these started, which run under the profiler and have loaded torch.
std::vector<pid_t> profiled_descendants(pid_t pid);
// Profiled processes of this machine that are ranks of a job, and their workers; by job (rules/job_name.h), then by
// pid.
struct JobProcess {
  std::string job;
  pid_t pid = 0;
};
std::vector<JobProcess> profiled_ranks();
// "4243 (train.py, rank 0)".
std::string process_phrase(pid_t pid);

// The signal that a TENSORSCOPE_SIGNAL of this value means: "SIGUSR2", "usr2", "12"; 0: off; SIGUSR1 for what is wrong.
int signal_of(const std::string& value);

}  // namespace tensorscope::process
