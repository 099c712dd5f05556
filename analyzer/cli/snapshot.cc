// snapshot: asks a running process for a dump and waits for it.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>

#include "cli/dump_options.h"
#include "cli/invocation.h"
#include "cli/target_process.h"
#include "cli/verb.h"
#include "dump/reader.h"
#include "recording/moment.h"
#include "tensorscope/rules/request_name.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct SnapshotOptions {
  pid_t pid = 0;
  bool children = false, no_signal = false;
  std::optional<uint64_t> timeout_ns = 60'000'000'000;
};

// Dump files in some folders; a file is known by its inode as well as its name, since names may come back.
class DumpWatch {
 public:
  explicit DumpWatch(const TargetProcess& target) : target_(target) {
    for_each_dump([this](const fs::path&, const Key& key) { seen_.insert(key); });
  }

  // A dump of the target that was made after `asked_ns`, if there is one by now.
  std::optional<std::string> find(uint64_t asked_ns) {
    std::optional<std::string> found;
    for_each_dump([&](const fs::path& path, const Key& key) {
      if (!found && seen_.insert(key).second && answers(path, asked_ns)) found = path.string();
    });
    return found;
  }

 private:
  using Key = std::tuple<std::string, uint64_t, int64_t>;  // path, size, time of writing

  template <typename Function>
  void for_each_dump(Function function) {
    for (const std::string& directory : target_.directories()) {
      std::error_code error;
      for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
        std::error_code gone;
        if (at->path().extension() != ".tscope" || !at->is_regular_file(gone)) continue;
        uint64_t size = at->file_size(gone);
        int64_t written = at->last_write_time(gone).time_since_epoch().count();
        if (!gone) function(at->path(), Key{at->path().string(), size, written});
      }
    }
  }

  bool answers(const fs::path& path, uint64_t asked_ns) const {
    try {
      const analyzer::Process process = analyzer::read_process(path.string());
      const auto& pids = target_.pids();
      return std::find(pids.begin(), pids.end(), pid_t(process.pid)) != pids.end() && process.dump_ns >= asked_ns;
    } catch (const analyzer::BadInput&) {
      return false;
    }
  }

  const TargetProcess& target_;
  std::set<Key> seen_;
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

// The clock that dumps are dated by: it does not jump.
uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

// One process that is asked, until its dump is there.
struct Asked {
  explicit Asked(TargetProcess&& process) : target(std::move(process)), watch(target) {}
  TargetProcess target;
  DumpWatch watch;
  bool by_file = false;
  uint64_t asked_ns = 0;
  bool done = false;
  std::string path;     // of its dump
  std::string problem;  // why there is none
};

// A name of the processes that would have to be asked instead.
std::string children_words(pid_t pid) {
  constexpr size_t kMost = 8;
  const std::vector<pid_t> children = profiled_descendants(pid);
  std::string text;
  for (size_t i = 0; i < children.size() && i < kMost; ++i) text += (i > 0 ? ", " : "") + process_words(children[i]);
  if (children.size() > kMost) text += fmt::format(" and {} more", children.size() - kMost);
  if (text.empty()) return "";
  return fmt::format(
      "{} running under the profiler: {}; use --children to dump all.",
      children.size() == 1 ? "1 child process is" : fmt::format("{} child processes are", children.size()), text);
}

// Null: `problem` says why it cannot be asked.
std::unique_ptr<Asked> open_process(pid_t pid, bool no_signal, std::string& problem) {
  std::optional<TargetProcess> target = TargetProcess::open(pid, no_signal ? AskBy::file : AskBy::signal, problem);
  if (!target) return nullptr;
  if (target->directories().empty()) {
    problem = fmt::format("cannot find the dump directory of process {}. Nothing was sent.", pid);
    return nullptr;
  }
  auto asked = std::make_unique<Asked>(std::move(*target));
  asked->by_file = no_signal || asked->target.has_own_handler();
  return asked;
}

bool ask(Asked& asked, Invocation& invocation) {
  if (asked.by_file && asked.target.has_own_handler()) {
    invocation.say(
        fmt::format("process {} has its own handler for signal {}; the dump is requested through a file instead.",
                    asked.target.pid(), asked.target.signal()));
  }
  asked.asked_ns = monotonic_ns();
  return asked.by_file ? asked.target.ask_by_file(rules::kRequestDump, asked.problem) : asked.target.ask(asked.problem);
}

// Looks whether the dump is there by now, or will not come.
void look(Asked& asked, Clock::duration waited, const SnapshotOptions& options) {
  const bool alive = asked.target.alive();  // before looking: what it wrote last is found
  if (std::optional<std::string> path = asked.watch.find(asked.asked_ns)) {
    asked.path = *path;
    asked.done = true;
  } else if (!alive) {
    asked.problem = fmt::format("process {} ended before it wrote the dump.", asked.target.pid());
  } else if (uint64_t(std::chrono::nanoseconds(waited).count()) > *options.timeout_ns) {
    asked.problem = fmt::format("process {} wrote no dump to {} within {}; it may still come (--timeout waits longer).",
                                asked.target.pid(), fmt::join(asked.target.directories(), " or "),
                                text::duration(*options.timeout_ns));
  }
  if (!asked.problem.empty()) asked.done = true;
  if (asked.done && asked.by_file) asked.target.withdraw();
}

// A dump of some size has tensors: only a small one is read.
bool is_empty(const std::string& path) {
  constexpr uint64_t kMostBytes = 4 << 20;
  std::error_code error;
  if (fs::file_size(path, error) > kMostBytes || error) return false;
  try {
    return analyzer::read_dump_or_moment(path).tensors.empty();
  } catch (const analyzer::BadInput&) {
    return false;
  }
}

int snapshot(const SnapshotOptions& options, Invocation& invocation) {
  std::vector<std::unique_ptr<Asked>> all;
  std::string problem;
  if (auto asked = open_process(options.pid, options.no_signal, problem)) all.push_back(std::move(asked));
  if (options.children) {
    for (pid_t child : profiled_descendants(options.pid)) {
      std::string why;
      if (auto asked = open_process(child, options.no_signal, why)) {
        all.push_back(std::move(asked));
      } else {
        invocation.say(why);
      }
    }
  }
  if (all.empty()) {
    invocation.say(problem);
    const std::string children = options.children ? "" : children_words(options.pid);
    if (!children.empty()) invocation.say(children);
    return kBadInput;
  }
  for (const auto& asked : all) {
    if (!ask(*asked, invocation)) asked->done = true;
  }
  const Clock::time_point begin = Clock::now();
  Progress progress(invocation.terminal.progress,
                    all.size() == 1
                        ? fmt::format("tensorscope: process {} is writing a dump", all.front()->target.pid())
                        : fmt::format("tensorscope: {} processes are writing dumps", all.size()));
  for (bool waiting = true; waiting;) {
    waiting = false;
    for (const auto& asked : all) {
      if (!asked->done) look(*asked, Clock::now() - begin, options);
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
    const std::string children = options.children ? "" : children_words(asked->target.pid());
    invocation.say(fmt::format("process {} has no live tensors.{}", process_words(asked->target.pid()),
                               children.empty() ? "" : " " + children));
  }
  return status;
}

}  // namespace

void add_snapshot(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "snapshot", "write a dump of a running process; prints its path", snapshot);
  verb->add_option("PID", options->pid, "process id of a program started under tensorscope")
      ->required()
      ->check(CLI::Range(1, 1 << 22).description(""))
      ->type_name("");
  verb->add_flag("--children", options->children, "include all profiled child processes (torchrun, workers)");
  verb->add_flag("--no-signal", options->no_signal,
                 "request the dump through a file in /dev/shm, not by signal (up to 1 s slower)");
  add_time(*verb, "--timeout", options->timeout_ns, "maximum wait for the dump. Default: 60s");
  verb->footer(
      "Examples:\n"
      "  tensorscope snapshot 4242\n"
      "  tensorscope report $(tensorscope snapshot 4242)\n"
      "  tensorscope snapshot --children $(pgrep -o torchrun)\n"
      "\n"
      "The signal is sent only to a process in which tensorscope is active, since it would end any other program. A\n"
      "process with its own handler for the signal is asked as with --no-signal.");
}

}  // namespace tensorscope::cli
