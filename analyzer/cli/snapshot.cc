// SPDX-License-Identifier: Apache-2.0
// snapshot: requests a dump of a running process and waits for it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "cli/dump_options.h"
#include "cli/invocation.h"
#include "cli/verb.h"
#include "dump/reader.h"
#include "process/asked_process.h"
#include "recording/moment.h"
#include "support/error.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

using analyzer::ProcessError;

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct SnapshotOptions {
  pid_t pid = 0;
  bool children = false, job = false, no_signal = false;
  std::optional<uint64_t> timeout_ns = 60'000'000'000;
};

// One line on standard error that is written over while a person waits.
class Progress {
 public:
  Progress(bool on, std::string text) : on_(on), text_(std::move(text)) {}
  ~Progress() { write_line("\r\033[K"); }
  void update(Clock::duration waited) {
    using std::chrono::duration_cast;
    if (waited < std::chrono::milliseconds(300)) return;
    uint64_t ns = uint64_t(duration_cast<std::chrono::nanoseconds>(waited).count());
    write_line(fmt::format("\r\033[K{}, {}", text_, text::duration(ns)));
    shown_ = true;
  }

 private:
  void write_line(const std::string& line) const {
    if (!on_ || (!shown_ && line.ends_with("[K"))) return;
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  }
  bool on_, shown_ = false;
  std::string text_;
};

// Returns the processes that the user could name instead, as words.
std::string children_words(pid_t pid) {
  constexpr size_t kMax = 8;
  const std::vector<pid_t> children = process::profiled_descendants(pid);
  std::string text;
  for (size_t i = 0; i < children.size() && i < kMax; ++i)
    text += (i > 0 ? ", " : "") + process::process_phrase(children[i]);
  if (children.size() > kMax) text += fmt::format(" and {} more", children.size() - kMax);
  if (text.empty()) return "";
  return fmt::format(
      "{} running under the profiler: {}; use --children to dump all.",
      children.size() == 1 ? "1 child process is" : fmt::format("{} child processes are", children.size()), text);
}

// A task of Slurm that has started the ranks of another job: torchrun under srun.
bool is_launcher(const process::JobProcess& task, const std::vector<process::JobProcess>& all) {
  if (!task.job.starts_with("slurm-")) return false;
  const std::vector<pid_t> started = process::profiled_descendants(task.pid);
  return std::any_of(all.begin(), all.end(), [&](const process::JobProcess& each) {
    return each.job != task.job && std::binary_search(started.begin(), started.end(), each.pid);
  });
}

// Returns the processes of the wanted job. Throws ProcessError if there is none, or one of several.
std::vector<pid_t> processes_of_job(pid_t pid) {
  std::vector<process::JobProcess> all = process::profiled_ranks();
  if (pid == 0) {
    std::erase_if(all, [known = all](const process::JobProcess& each) { return is_launcher(each, known); });
  }
  std::string job, names;
  for (const process::JobProcess& each : all) {
    if (pid != 0 ? each.pid == pid : job.empty()) job = each.job;
    if (names.find(each.job + " (") != std::string::npos) continue;
    names += fmt::format("{}{} (pid {})", names.empty() ? "" : ", ", each.job, each.pid);
  }
  std::vector<pid_t> found;
  for (const process::JobProcess& each : all) {
    if (each.job == job) found.push_back(each.pid);
  }
  if (job.empty()) {
    throw ProcessError(pid == 0 ? "no rank of a job runs under tensorscope on this machine."
                                : fmt::format("process {} is no rank of a job under tensorscope.", pid));
  }
  if (pid == 0 && found.size() < all.size()) {
    throw ProcessError(fmt::format("several jobs run on this machine: {}; add the PID of one.", names));
  }
  return found;
}

void ask(process::AskedProcess& asked, Invocation& invocation) {
  if (asked.by_file && asked.target.has_own_handler()) {
    invocation.say(
        fmt::format("process {} has its own handler for signal {}; the dump is requested through a file instead.",
                    asked.target.pid(), asked.target.signal()));
  }
  asked.ask();
}

// A dump of some size has tensors: only a small one is read.
bool is_empty(const std::string& path) {
  constexpr uint64_t kMaxBytes = 4 << 20;
  std::error_code error;
  if (fs::file_size(path, error) > kMaxBytes || error) return false;
  try {
    return analyzer::read_dump_or_moment(path).tensors.empty();
  } catch (const analyzer::BadInput&) {
    return false;
  }
}

int snapshot(const SnapshotOptions& options, Invocation& invocation) {
  std::vector<std::unique_ptr<process::AskedProcess>> all;
  const process::RequestKind how = options.no_signal ? process::RequestKind::dump_by_file : process::RequestKind::dump;
  if (options.pid == 0 && !options.job) {
    invocation.say("snapshot needs a PID, or --job (see tensorscope snapshot --help)");
    return kBadInput;
  }
  std::vector<pid_t> others;
  std::string problem;  // of the process that was named: shown only if no other gets a request
  if (options.job) {
    others = processes_of_job(options.pid);
  } else {
    try {
      all.push_back(process::open_asked_process(options.pid, how));
    } catch (const ProcessError& error) {
      problem = error.what();
    }
    if (options.children) others = process::profiled_descendants(options.pid);
  }
  for (const pid_t other : others) {
    try {
      all.push_back(process::open_asked_process(other, how));
    } catch (const ProcessError& error) {
      invocation.say(error.what());
    }
  }
  if (all.empty()) {
    if (!problem.empty()) invocation.say(problem);
    const std::string children = options.children || options.job ? "" : children_words(options.pid);
    if (!children.empty()) invocation.say(children);
    return kBadInput;
  }
  for (const auto& asked : all) ask(*asked, invocation);
  const Clock::time_point begin = Clock::now();
  Progress progress(invocation.terminal.progress,
                    all.size() == 1
                        ? fmt::format("tensorscope: process {} is writing a dump", all.front()->target.pid())
                        : fmt::format("tensorscope: {} processes are writing dumps", all.size()));
  for (bool waiting = true; waiting;) {
    waiting = false;
    for (const auto& asked : all) {
      if (!asked->done) asked->look(Clock::now() - begin, *options.timeout_ns);
      waiting = waiting || !asked->done;
    }
    if (!waiting) break;
    progress.update(Clock::now() - begin);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  int status = kOk;
  for (const auto& asked : all) {
    if (!asked->problem.empty()) {
      invocation.say(asked->problem);
      status = kBadInput;
      continue;
    }
    invocation.out += asked->path + "\n";
    if (!is_empty(asked->path)) continue;
    const std::string children = options.children || options.job ? "" : children_words(asked->target.pid());
    invocation.say(fmt::format("process {} has no live tensors.{}", process::process_phrase(asked->target.pid()),
                               children.empty() ? "" : " " + children));
  }
  return status;
}

}  // namespace

void add_snapshot(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "snapshot", "write a dump of a running process; prints its path", snapshot);
  verb->add_option("PID", options->pid, "process id of a program started under tensorscope")
      ->check(CLI::Range(1, 1 << 22).description(""))
      ->type_name("");
  verb->add_flag("--children", options->children, "include all profiled child processes (torchrun, workers)");
  verb->add_flag("--job", options->job,
                 "all ranks of the job on this machine, and their workers; PID is optional if only one job is running")
      ->excludes("--children");
  verb->add_flag("--no-signal", options->no_signal,
                 "request the dump through a file in /dev/shm, not by signal (up to 1 s slower)");
  add_time(*verb, "--timeout", options->timeout_ns, "maximum wait for the dump. Default: 60s");
  verb->footer(
      "Examples:\n"
      "  tensorscope snapshot 4242\n"
      "  tensorscope report $(tensorscope snapshot 4242)\n"
      "  tensorscope snapshot --children $(pgrep -o torchrun)\n"
      "  tensorscope snapshot --job\n"
      "\n"
      "The signal is sent only to a process in which tensorscope is active, since it would end any other program. A\n"
      "process with its own handler for the signal is asked as with --no-signal.");
}

}  // namespace tensorscope::cli
