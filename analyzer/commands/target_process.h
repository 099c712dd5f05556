// Another process as /proc shows it: whether tensorscope is awake in it, by which signal it is asked, and where its
// dumps will appear. Linux only.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace tensorscope::commands {

class TargetProcess {
 public:
  // Opens the process and checks that a signal would be answered with a dump; else nothing, and `problem` is one line
  // that says why. Nothing is ever sent by it.
  static std::optional<TargetProcess> open(pid_t pid, std::string& problem);
  TargetProcess(TargetProcess&& other) noexcept;
  TargetProcess& operator=(TargetProcess&&) = delete;
  ~TargetProcess();

  pid_t pid() const { return pid_; }
  int signal() const { return signal_; }
  // Its process id in its own and all outer pid namespaces: one of them stands in its dumps.
  const std::vector<pid_t>& pids() const { return pids_; }
  // Folders, as this process reaches them, one of which the dump will be written to.
  const std::vector<std::string>& directories() const { return directories_; }

  // Sends the signal to this very process, whatever has become of its id. False: `problem` says why not.
  bool ask(std::string& problem) const;
  bool alive() const;

 private:
  explicit TargetProcess(pid_t pid) : pid_(pid) {}
  void find_directories(const std::vector<std::string>& environment);

  pid_t pid_;
  int descriptor_ = -1;  // pidfd
  int signal_ = 0;
  std::vector<pid_t> pids_;
  std::vector<std::string> directories_;
};

// The signal that a TENSORSCOPE_SIGNAL of this value means: "SIGUSR2", "usr2", "12"; 0: off; SIGUSR1 for what is wrong.
int signal_of(const std::string& value);

}  // namespace tensorscope::commands
