// SPDX-License-Identifier: Apache-2.0
#include "support/log.h"

#include <errno.h>
#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "support/clock.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/locks/mutex.h"
#include "support/locks/spin_lock.h"
#include "support/message.h"
#include "support/options.h"
#include "support/private_descriptor_table.h"
#include "support/process_info.h"
#include "support/signal_taken.h"
#include "support/utc_text.h"

namespace tensorscope {

namespace {

enum class Wanted : uint8_t { unknown, yes, no };
constinit std::atomic<Wanted> g_log_wanted{Wanted::unknown};

struct WaitingLine {
  uint64_t unix_ns;
  LogLevel level;
  uint16_t size;
};

// Lines, each a head and its text. Not touched, and so no memory, if there is no log.
using LineBytes = char[size_t{64} << 10];
constinit SpinLock g_log_lock;
constinit LineBytes g_waiting_bytes GUARDED_BY(g_log_lock) = {};

constinit Mutex g_log_writing;  // of this, and of the logger
constinit LineBytes g_written_bytes GUARDED_BY(g_log_writing) = {};

// What a forked child finds here is the parent's: lines that wait, and lines that the logger has formatted halfway.
struct LogState {
  std::atomic<size_t> used{0};  // of the bytes of lines that wait
  uint64_t lost GUARDED_BY(g_log_lock) = 0;
  spdlog::logger* logger GUARDED_BY(g_log_writing) = nullptr;  // made when the first lines are written, never destroyed
};
constinit LogState g_log;
FreshInChild g_fresh_log{g_log};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      break;
  }
  return spdlog::level::err;
}

// spdlog's own formatter and file sinks are not used. The formatter calls localtime, which takes libc's lock: a child
// may find it held by a thread of its parent. The sinks hold a mutex and keep a descriptor open, which the program may
// close. This one formats lines by itself and keeps nothing once they are written.
class LineSink final : public spdlog::sinks::sink {
 public:
  explicit LineSink(std::string path) : path_(std::move(path)) {}

  void log(const spdlog::details::log_msg& message) override {
    const auto level = spdlog::level::to_string_view(message.level);
    const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(message.time.time_since_epoch());
    fmt::format_to(std::back_inserter(lines_), "{} {} {} {}\n", UtcText(uint64_t(since.count())).c_str(), getpid(),
                   fmt::string_view(level.data(), level.size()),
                   fmt::string_view(message.payload.data(), message.payload.size()));
  }
  void flush() override {
    if (path_ == "-") {
      write_standard_error(lines_.data(), lines_.size());
    } else {
      int error = EPERM;
      with_private_descriptors([&] { error = append(); });
      if (error != 0) complain(error);
    }
    lines_.clear();
  }
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  // Returns errno, or 0.
  int append() const {
    const SignalTaken no_end(SIGXFSZ);
    const int file = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (file < 0) return errno;
    const int error = write(file, lines_.data(), lines_.size()) < 0 ? errno : 0;
    close(file);
    return error;
  }
  void complain(int error) {
    if (g_log_wanted.exchange(Wanted::no) == Wanted::no) return;
    say("TENSORSCOPE_LOG=%s cannot be written: %s; there is no log.", path_.c_str(), strerror(error));
  }

  std::string path_;
  fmt::memory_buffer lines_;
};

// The program may change its directory.
std::string path_of_log() {
  const std::string path = options().log;
  const char* const directory = process_info().directory;
  return path == "-" || path.starts_with('/') || *directory == 0 ? path : std::string(directory) + "/" + path;
}

spdlog::logger& the_logger() REQUIRES(g_log_writing) {
  if (!g_log.logger) {
    g_log.logger = new spdlog::logger("tensorscope", std::make_shared<LineSink>(path_of_log()));
    g_log.logger->set_level(spdlog::level::debug);
  }
  return *g_log.logger;
}

struct TakenLines {
  size_t used = 0;  // of g_written_bytes
  uint64_t lost = 0;
  explicit operator bool() const { return used != 0 || lost != 0; }
};

TakenLines take_lines() REQUIRES(g_log_writing) {
  const SpinGuard guard(g_log_lock);
  if (!guard) return {};
  const TakenLines taken = {g_log.used, g_log.lost};
  memcpy(g_written_bytes, g_waiting_bytes, taken.used);
  g_log.used = 0;
  g_log.lost = 0;
  return taken;
}

void write_lines(const TakenLines& lines) REQUIRES(g_log_writing) {
  spdlog::logger& logger = the_logger();
  for (size_t at = 0; at < lines.used;) {
    WaitingLine line;
    memcpy(&line, g_written_bytes + at, sizeof line);
    const std::chrono::nanoseconds since{line.unix_ns};
    logger.log(spdlog::log_clock::time_point(std::chrono::duration_cast<spdlog::log_clock::duration>(since)), {},
               spdlog_level(line.level), spdlog::string_view_t(g_written_bytes + at + sizeof line, line.size));
    at += sizeof line + line.size;
  }
  if (lines.lost != 0) logger.log(spdlog::level::warn, "{} lines were lost here: too many at once", lines.lost);
  logger.flush();
}

}  // namespace

bool log_is_on() { return g_log_wanted.load(std::memory_order_relaxed) != Wanted::no; }

void start_log() {
  const bool wanted = options().log && *options().log != 0;
  g_log_wanted.store(wanted ? Wanted::yes : Wanted::no, std::memory_order_relaxed);
}

bool log_is_standard_error() { return options().log && strcmp(options().log, "-") == 0; }

void queue_log_line(LogLevel level, std::string_view text) {
  if (!log_is_on()) return;
  const WaitingLine line = {read_clock_ns(CLOCK_REALTIME), level, uint16_t(std::min(text.size(), kLogLineBytes))};
  const SpinGuard guard(g_log_lock);
  if (!guard) return;
  if (sizeof g_waiting_bytes - g_log.used < sizeof line + line.size) {
    ++g_log.lost;
    return;
  }
  memcpy(g_waiting_bytes + g_log.used, &line, sizeof line);
  memcpy(g_waiting_bytes + g_log.used + sizeof line, text.data(), line.size);
  g_log.used += sizeof line + line.size;
}

void format_log_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) {
  char line[kLogLineBytes];
  const auto end = fmt::vformat_to_n(line, sizeof line, format, arguments);
  queue_log_line(level, {line, size_t(end.out - line)});
}

void write_log() {
  if (g_log_wanted.load(std::memory_order_relaxed) != Wanted::yes) return;
  const MutexGuard guard(g_log_writing);
  if (const TakenLines lines = take_lines())
    run_or_abandon_on_oom([&]() NO_THREAD_SAFETY_ANALYSIS { write_lines(lines); });
}

bool log_lines_wait() {
  return g_log_wanted.load(std::memory_order_relaxed) == Wanted::yes && g_log.used.load(std::memory_order_relaxed) != 0;
}

}  // namespace tensorscope
