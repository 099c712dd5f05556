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
#include "support/message.h"
#include "support/mutex.h"
#include "support/options.h"
#include "support/own_descriptors.h"
#include "support/process_info.h"
#include "support/signal_taken.h"
#include "support/spin_lock.h"
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

// Lines that wait, each a head and its text. Not touched, and so no memory, if there is no log.
struct Lines {
  char bytes[size_t{64} << 10];
  std::atomic<size_t> used;
  uint64_t lost;
};
constinit SpinLock g_log_lock;
constinit Lines g_lines = {};

constinit Mutex g_log_writing;  // of what follows
constinit Lines g_log_written = {};

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
      with_own_descriptors([&] { error = append(); });
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

// Made when the first lines are written, never destroyed.
spdlog::logger& the_logger() {
  static spdlog::logger* made = nullptr;
  if (!made) {
    made = new spdlog::logger("tensorscope", std::make_shared<LineSink>(path_of_log()));
    made->set_level(spdlog::level::debug);
  }
  return *made;
}

// False: none wait.
bool take_lines() {
  const SpinGuard guard(g_log_lock);
  if (!guard || (g_lines.used == 0 && g_lines.lost == 0)) return false;
  const size_t used = g_lines.used;
  memcpy(g_log_written.bytes, g_lines.bytes, used);
  g_log_written.used = used;
  g_log_written.lost = g_lines.lost;
  g_lines.used = 0;
  g_lines.lost = 0;
  return true;
}

void write_lines(const Lines& lines) {
  spdlog::logger& logger = the_logger();
  for (size_t at = 0; at < lines.used;) {
    WaitingLine line;
    memcpy(&line, lines.bytes + at, sizeof line);
    const std::chrono::nanoseconds since{line.unix_ns};
    logger.log(spdlog::log_clock::time_point(std::chrono::duration_cast<spdlog::log_clock::duration>(since)), {},
               spdlog_level(line.level), spdlog::string_view_t(lines.bytes + at + sizeof line, line.size));
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
  if (sizeof g_lines.bytes - g_lines.used < sizeof line + line.size) {
    ++g_lines.lost;
    return;
  }
  memcpy(g_lines.bytes + g_lines.used, &line, sizeof line);
  memcpy(g_lines.bytes + g_lines.used + sizeof line, text.data(), line.size);
  g_lines.used += sizeof line + line.size;
}

void format_log_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) {
  char line[kLogLineBytes];
  const auto end = fmt::vformat_to_n(line, sizeof line, format, arguments);
  queue_log_line(level, {line, size_t(end.out - line)});
}

void write_log() {
  if (g_log_wanted.load(std::memory_order_relaxed) != Wanted::yes) return;
  const MutexGuard guard(g_log_writing);
  if (take_lines()) run_if_memory_lasts([] { write_lines(g_log_written); });
}

bool log_lines_wait() {
  return g_log_wanted.load(std::memory_order_relaxed) == Wanted::yes && g_lines.used.load(std::memory_order_relaxed) != 0;
}

void reset_log_after_fork() {
  g_lines.used = 0;
  g_lines.lost = 0;
}

}  // namespace tensorscope
