// SPDX-License-Identifier: Apache-2.0
#include "process/target_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <thread>
#include <tuple>

#include "support/dotted_path.h"
#include "support/error.h"
#include "support/process_file.h"
#include "tensorscope/rules/job_name.h"
#include "tensorscope/rules/own_handler.h"
#include "tensorscope/rules/request_name.h"
#include "tensorscope/rules/signal_names.h"

namespace tensorscope::process {

using analyzer::ProcessError;

namespace {

namespace fs = std::filesystem;
using analyzer::read_process_file;
using analyzer::status_field;

std::vector<std::string> split_at_zero(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, '\0');) result.push_back(word);
  return result;
}

std::string variable(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

std::string owner_of(pid_t pid) {
  struct stat info {};
  if (stat(fmt::format("/proc/{}", pid).c_str(), &info) != 0) return "another user";
  const passwd* user = getpwuid(info.st_uid);
  return user != nullptr ? fmt::format("user {}", user->pw_name) : fmt::format("user {}", info.st_uid);
}

// An object of this file name, or of one with a version after it, is mapped.
bool has_mapped(const std::string& maps, const std::string& name) {
  for (size_t at = maps.find("/" + name); at != std::string::npos; at = maps.find("/" + name, at + 1)) {
    char next = maps[at + 1 + name.size()];
    if (next == '\n' || next == '.' || next == ' ') return true;
  }
  return false;
}

bool catches(const std::string& status, int signal) {
  uint64_t caught = strtoull(status_field(status, "SigCgt").c_str(), nullptr, 16);
  return signal >= 1 && signal <= 64 && (caught >> (signal - 1) & 1) != 0;
}

constexpr int kParent = 4, kStartTime = 22;

// A field of /proc/PID/stat by its number in proc(5), from 4 on; 0 where it cannot be read.
uint64_t stat_number(pid_t pid, int field) {
  const std::optional<std::string> text = read_process_file(pid, "stat");
  const size_t name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return 0;
  std::istringstream words(text->substr(name_end + 1));
  std::string word;
  for (int at = 2; at < field && words >> word;) ++at;
  return strtoull(word.c_str(), nullptr, 10);
}

// What a thread of a process has open under the name of the settings; empty: nothing.
std::string settings_file_of(pid_t pid, const std::string& thread) {
  std::error_code error;
  const std::string folder = "task/" + thread + "/fd";
  for (fs::directory_iterator at(fmt::format("/proc/{}/{}", pid, folder), error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    const std::string target = fs::read_symlink(at->path(), ignored).string();
    if (!target.starts_with(std::string("/memfd:") + rules::kSettingsName)) continue;
    return read_process_file(pid, folder + "/" + at->path().filename().string()).value_or("");
  }
  return "";
}

// Of a process that tensorscope was attached to. The collector thread has the file in a descriptor table of its own.
std::vector<std::string> settings_of_attach(pid_t pid) {
  std::error_code error;
  for (fs::directory_iterator at(fmt::format("/proc/{}/task", pid), error), end; !error && at != end;
       at.increment(error)) {
    const std::string text = settings_file_of(pid, at->path().filename().string());
    if (!text.empty()) return split_at_zero(text);
  }
  return {};
}

bool is_profiled(pid_t pid) {
  const std::optional<std::string> maps = read_process_file(pid, "maps");
  return maps && has_mapped(*maps, "libtensorscope.so") && has_mapped(*maps, "libc10.so");
}

}  // namespace

bool wait_for_settings_of_attach(pid_t pid) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (settings_of_attach(pid).empty()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::vector<pid_t> profiled_descendants(pid_t pid) {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (!analyzer::is_number(name)) continue;
    const pid_t child = pid_t(std::atoi(name.c_str()));
    children.emplace(pid_t(stat_number(child, kParent)), child);
  }
  std::vector<pid_t> all{pid}, found;
  for (size_t at = 0; at < all.size(); ++at) {
    const auto [first, last] = children.equal_range(all[at]);
    for (auto child = first; child != last; ++child) all.push_back(child->second);
    if (at > 0 && is_profiled(all[at])) found.push_back(all[at]);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<JobProcess> profiled_ranks() {
  std::vector<JobProcess> found;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (!analyzer::is_number(name)) continue;
    const pid_t pid = pid_t(std::atoi(name.c_str()));
    const std::vector<std::string> environment = split_at_zero(read_process_file(pid, "environ").value_or(""));
    const auto is_set = [&](const char* rank) { return !variable(environment, rank).empty(); };
    const char* const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    if (std::none_of(std::begin(ranks), std::end(ranks), is_set) || !is_profiled(pid)) continue;
    std::map<std::string, std::string> values;
    char job[128];
    rules::job_name([&](const char* key) { return (values[key] = variable(environment, key)).c_str(); }, job);
    if (*job != 0) found.push_back({job, pid});
  }
  std::sort(found.begin(), found.end(),
            [](const JobProcess& a, const JobProcess& b) { return std::tie(a.job, a.pid) < std::tie(b.job, b.pid); });
  return found;
}

std::string process_phrase(pid_t pid) {
  const std::vector<std::string> words = split_at_zero(read_process_file(pid, "cmdline").value_or(""));
  std::string program = words.empty() ? "" : fs::path(words.front()).filename().string();
  for (size_t at = 1; at < words.size(); ++at) {
    if (words[at] == "-m" && at + 1 < words.size()) program = words[at + 1];
    if (words[at] == "-c") program = "python -c";
    if (words[at] == "-m" || words[at] == "-c") break;
    if (words[at].starts_with("-")) continue;
    program = fs::path(words[at]).filename().string();
    break;
  }
  const std::string rank = variable(split_at_zero(read_process_file(pid, "environ").value_or("")), "RANK");
  return fmt::format("{} ({}{})", pid, program, rank.empty() ? "" : ", rank " + rank);
}

int signal_of(const std::string& value) {
  if (value.empty()) return SIGUSR1;
  std::string name;
  for (char c : value) name += char(std::toupper(uint8_t(c)));
  if (name == "OFF" || name == "0" || name == "NONE") return 0;
  if (analyzer::is_number(name)) {
    int number = name.size() < 4 ? std::stoi(name) : 0;
    return number >= 1 && number <= 64 ? number : SIGUSR1;
  }
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (const rules::SignalName& known : rules::kSignals) {
    if (name == known.name + 3) return known.number;
  }
  if (name.starts_with("RTMIN+")) return SIGRTMIN + atoi(name.c_str() + 6);
  if (name.starts_with("RTMAX-")) return SIGRTMAX - atoi(name.c_str() + 6);
  return SIGUSR1;
}

TargetProcess::TargetProcess(TargetProcess&& other) noexcept
    : pid_(other.pid_),
      own_handler_(other.own_handler_),
      descriptor_(other.descriptor_),
      signal_(other.signal_),
      pids_(std::move(other.pids_)),
      directories_(std::move(other.directories_)) {
  other.descriptor_ = -1;
}

TargetProcess::~TargetProcess() {
  if (descriptor_ >= 0) close(descriptor_);
}

TargetProcess TargetProcess::open(pid_t pid, RequestMethod by) {
  constexpr const char* kNothing = "Nothing was sent.";
  TargetProcess target(pid);
  std::optional<std::string> status = read_process_file(pid, "status");
  if (!status) {
    throw ProcessError(fmt::format("no such process: {}.", pid));
  }
  // Held from here on: the process that is checked is the one that gets the signal.
  target.descriptor_ = int(syscall(SYS_pidfd_open, pid, 0));
  if (status_field(*status, "State").starts_with("Z")) {
    throw ProcessError(fmt::format("process {} has ended.", pid));
  }
  std::optional<std::string> maps = read_process_file(pid, "maps"), environ = read_process_file(pid, "environ");
  if (!maps || !environ) {
    bool ours = owner_of(pid) == owner_of(getpid()) || geteuid() == 0;
    throw ProcessError(ours ? fmt::format("process {} cannot be inspected. {}", pid, kNothing)
                            : fmt::format("process {} belongs to {}; run tensorscope as that user or as root. {}", pid,
                                          owner_of(pid), kNothing));
  }
  if (!has_mapped(*maps, "libtensorscope.so")) {
    throw ProcessError(fmt::format(
        "process {} does not run under tensorscope (start it with: tensorscope run -- ..., or: tensorscope attach {}). "
        "{}",
        pid, pid, kNothing));
  }
  if (!has_mapped(*maps, "libc10.so")) {
    throw ProcessError(fmt::format("process {} has not loaded torch yet; there is nothing to dump. {}", pid, kNothing));
  }
  std::vector<std::string> environment = settings_of_attach(pid);  // comes first
  for (std::string& entry : split_at_zero(*environ)) environment.push_back(std::move(entry));
  target.signal_ = signal_of(variable(environment, "TENSORSCOPE_SIGNAL"));
  const bool collector = target.has_collector();
  if (by == RequestMethod::signal && target.signal_ == 0) {
    throw ProcessError(fmt::format("process {} runs with TENSORSCOPE_SIGNAL=off{}. {}", pid,
                                   collector ? "; use --no-signal" : "; it writes no dumps on request", kNothing));
  }
  status = read_process_file(pid, "status");
  if (by == RequestMethod::signal && (!status || !catches(*status, target.signal_))) {
    throw ProcessError(fmt::format(
        "process {} does not handle signal {}: it has no tensor yet, or tensorscope is switched off in it. {}", pid,
        target.signal_, kNothing));
  }
  if (by == RequestMethod::file && (!status || !collector)) {
    throw ProcessError(fmt::format(
        "process {} has no collector thread: it has no tensor yet, or tensorscope is switched off in it. Nothing was "
        "sent.",
        pid));
  }
  std::istringstream numbers(status_field(*status, "NSpid"));
  for (pid_t number; numbers >> number;) target.pids_.push_back(number);
  if (target.pids_.empty()) target.pids_.push_back(pid);
  target.find_directories(environment);
  return target;
}

// TENSORSCOPE_DIR counts from the directory that the process started in, which /proc does not report: its shell's PWD
// does, in nearly every case, and else the present one.
void TargetProcess::find_directories(const std::vector<std::string>& environment) {
  std::string root = fmt::format("/proc/{}/root", pid_);
  struct stat own {
  }, theirs{};
  bool same_root = stat("/", &own) == 0 && stat((root + "/").c_str(), &theirs) == 0 && own.st_ino == theirs.st_ino &&
                   own.st_dev == theirs.st_dev;
  std::error_code ignored;
  auto add = [&](const std::string& path) {
    std::string reached = same_root ? path : root + path;
    if (fs::is_directory(reached, ignored) &&
        std::find(directories_.begin(), directories_.end(), reached) == directories_.end()) {
      directories_.push_back(reached);
    }
  };
  std::string directory = variable(environment, "TENSORSCOPE_DIR");
  if (directory.starts_with("/")) {
    add(directory);
    return;
  }
  std::string tail = directory.empty() ? "" : "/" + directory;
  std::string started = variable(environment, "PWD");
  if (started.starts_with("/")) add(started + tail);
  std::string now = fs::read_symlink(fmt::format("/proc/{}/cwd", pid_), ignored).string();
  if (now.starts_with("/")) add(now + tail);
}

bool TargetProcess::has_collector() {
  std::error_code error;
  for (fs::directory_iterator at(fmt::format("/proc/{}/task", pid_), error), end; !error && at != end;
       at.increment(error)) {
    std::ifstream file(at->path() / "comm");
    std::string name;
    std::getline(file, name);
    own_handler_ = name == rules::kCollectorNameOwnHandler;
    if (own_handler_ || name == rules::kCollectorName) return true;
  }
  return false;
}

// As this process reaches it: the process may live in another mount or pid namespace.
std::string TargetProcess::request_path() const {
  char name[64];
  rules::request_file_name(unsigned(pids_.back()), stat_number(pid_, kStartTime), name);
  return fmt::format("/proc/{}/root{}/{}", pid_, rules::kRequestFolder, name);
}

std::string TargetProcess::answer_path() const {
  char name[64];
  rules::answer_file_name(unsigned(pids_.back()), stat_number(pid_, kStartTime), name);
  return fmt::format("/proc/{}/root{}/{}", pid_, rules::kRequestFolder, name);
}

int TargetProcess::make_file(const std::string& path, int flags) const {
  struct stat theirs {};
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0644);
  // The process removes it, or writes into it: it must own what stands in a folder where only owners may.
  if (file >= 0 && geteuid() == 0 && stat(fmt::format("/proc/{}", pid_).c_str(), &theirs) == 0) {
    [[maybe_unused]] const int changed = fchown(file, theirs.st_uid, theirs.st_gid);
  }
  return file;
}

uint64_t TargetProcess::expect_answer() const {
  const int file = make_file(answer_path(), 0);
  if (file >= 0) close(file);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // does not jump: dumps and answers are dated by it
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

void TargetProcess::forget_answer() const { unlink(answer_path().c_str()); }

std::optional<std::string> TargetProcess::refusal(uint64_t asked_ns) const {
  const int file = ::open(answer_path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  char text[1024];
  const ssize_t length = ::read(file, text, sizeof text);
  close(file);
  std::istringstream line(std::string(text, length > 0 ? size_t(length) : 0));
  uint64_t requested_ns = 0;
  std::string reason;
  const bool whole = line >> requested_ns && std::getline(line >> std::ws, reason) && !line.eof();
  if (!whole || requested_ns < asked_ns) return std::nullopt;
  return fmt::format("process {} refuses: {}", pid_, reason);
}

void TargetProcess::ask_by_file(const char* what) const {
  const std::string path = request_path();
  const int file = make_file(path, O_EXCL);
  const bool ok = file >= 0 && write(file, what, strlen(what)) == ssize_t(strlen(what));
  const int error = errno;
  if (file >= 0) close(file);
  if (ok) return;
  throw ProcessError(
      error == EEXIST ? fmt::format("process {} has not answered an earlier request yet ({}).", pid_, path)
                      : fmt::format("cannot write the request {1} for process {0}: {2}.", pid_, path, strerror(error)));
}

bool TargetProcess::file_taken() const { return access(request_path().c_str(), F_OK) != 0; }
void TargetProcess::withdraw() const { unlink(request_path().c_str()); }

void TargetProcess::ask() const {
  const long result =
      descriptor_ >= 0 ? syscall(SYS_pidfd_send_signal, descriptor_, signal_, nullptr, 0) : kill(pid_, signal_);
  if (result == 0) return;
  throw ProcessError(errno == ESRCH ? fmt::format("process {} has ended.", pid_)
                                    : fmt::format("cannot send a signal to process {}: {}.", pid_, strerror(errno)));
}

bool TargetProcess::alive() const {
  if (descriptor_ < 0) return kill(pid_, 0) == 0 || errno == EPERM;
  pollfd waiting{descriptor_, POLLIN, 0};
  return poll(&waiting, 1, 0) == 0;
}

}  // namespace tensorscope::process
