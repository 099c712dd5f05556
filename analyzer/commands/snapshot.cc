// snapshot: asks a running process for a dump and waits for it.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>

#include "commands/invocation.h"
#include "commands/opened_dump.h"
#include "commands/target_process.h"
#include "commands/verb.h"
#include "model/reader.h"
#include "render/units.h"

namespace tensorscope::commands {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct SnapshotOptions {
  pid_t pid = 0;
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
      const model::Process process = model::read_process(path.string());
      const auto& pids = target_.pids();
      return std::find(pids.begin(), pids.end(), pid_t(process.pid)) != pids.end() && process.dump_ns >= asked_ns;
    } catch (const model::BadInput&) {
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
    write_line(fmt::format("\r\033[K{}, {}", text_, render::duration(ns)));
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

int snapshot(const SnapshotOptions& options, Invocation& invocation) {
  std::string problem;
  std::optional<TargetProcess> target = TargetProcess::open(options.pid, problem);
  if (!target) {
    invocation.say(problem);
    return kBadInput;
  }
  if (target->directories().empty()) {
    invocation.say(fmt::format("the folder of process {}'s dumps cannot be found. Nothing was sent.", options.pid));
    return kBadInput;
  }
  DumpWatch watch(*target);
  uint64_t asked_ns = monotonic_ns();
  if (!target->ask(problem)) {
    invocation.say(problem);
    return kBadInput;
  }
  const Clock::time_point asked = Clock::now();
  Progress progress(invocation.terminal.progress,
                    fmt::format("tensorscope: process {} is writing a dump", options.pid));
  while (true) {
    bool alive = target->alive();  // before looking: what it wrote last is found
    if (std::optional<std::string> path = watch.find(asked_ns)) {
      invocation.out += *path + "\n";
      return kOk;
    }
    Clock::duration waited = Clock::now() - asked;
    if (!alive) {
      invocation.say(fmt::format("process {} ended before it wrote the dump.", options.pid));
      return kBadInput;
    }
    if (uint64_t(std::chrono::nanoseconds(waited).count()) > *options.timeout_ns) {
      invocation.say(
          fmt::format("process {} wrote no dump to {} within {}; it may still come (--timeout waits longer).",
                      options.pid, fmt::join(target->directories(), " or "), render::duration(*options.timeout_ns)));
      return kBadInput;
    }
    progress.update(waited);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
}

}  // namespace

void add_snapshot(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "snapshot", "ask a running process for a dump; prints the dump's path", snapshot);
  verb->add_option("PID", options->pid, "process id of a program that runs under tensorscope")
      ->required()
      ->check(CLI::Range(1, 1 << 22).description(""))
      ->type_name("");
  add_time(*verb, "--timeout", options->timeout_ns, "how long to wait for the dump. Default 60s");
  verb->footer(
      "Examples:\n"
      "  tensorscope snapshot 4242\n"
      "  tensorscope report $(tensorscope snapshot 4242)\n"
      "\n"
      "The process is asked only if tensorscope is awake in it: the signal would end any other program.");
}

}  // namespace tensorscope::commands
