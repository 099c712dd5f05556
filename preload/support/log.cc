#include "support/log.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "support/clock.h"
#include "support/enough_memory.h"
#include "support/message.h"
#include "support/options.h"
#include "support/own_descriptors.h"
#include "support/signal_taken.h"

namespace tensorscope {

namespace {

// spdlog's own formatter and file sinks are not used. The formatter calls localtime, which takes libc's lock: a child
// may find it held by a thread of its parent. The sinks hold a mutex and keep a descriptor open, which the program may
// close. This one formats a line by itself and keeps nothing between lines.
class LineSink final : public spdlog::sinks::sink {
 public:
  explicit LineSink(const char* path) : path_(path) {}

  void log(const spdlog::details::log_msg& message) override {
    const uint64_t now = monotonic_ns();
    const auto level = spdlog::level::to_string_view(message.level);
    fmt::memory_buffer line;
    fmt::format_to(std::back_inserter(line), "{}.{:06} {} {} {}\n", now / 1'000'000'000, now / 1000 % 1'000'000,
                   getpid(), fmt::string_view(level.data(), level.size()),
                   fmt::string_view(message.payload.data(), message.payload.size()));
    if (std::strcmp(path_, "-") == 0) {
      write_standard_error(line.data(), line.size());
      return;
    }
    int error = EPERM;
    with_own_descriptors([&] { error = append(line.data(), line.size()); });
    if (error != 0) complain(error);
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  // Returns errno, or 0.
  int append(const char* line, size_t size) const {
    const SignalTaken no_end(SIGXFSZ);
    const int file = open(path_, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (file < 0) return errno;
    const int error = write(file, line, size) < 0 ? errno : 0;
    close(file);
    return error;
  }
  void complain(int error) {
    if (complained_.exchange(true)) return;
    say("TENSORSCOPE_LOG=%s cannot be written: %s; there is no log.", path_, strerror(error));
  }

  const char* path_;
  std::atomic<bool> complained_{false};
};

// Made at the first line, never destroyed: threads may log until the very end of the process.
spdlog::logger* the_logger() {
  static constinit std::atomic<spdlog::logger*> made{nullptr};
  spdlog::logger* logger = made.load(std::memory_order_acquire);
  if (logger != nullptr) return logger;
  auto* fresh = new spdlog::logger("tensorscope", std::make_shared<LineSink>(options().log));
  fresh->set_level(spdlog::level::debug);
  if (made.compare_exchange_strong(logger, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;
  return logger;
}

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

}  // namespace

bool log_is_on() { return options().log != nullptr; }

void write_log(LogLevel level, fmt::string_view format, fmt::format_args arguments) {
  run_if_memory_lasts([&] {
    fmt::memory_buffer text;
    fmt::vformat_to(std::back_inserter(text), format, arguments);
    the_logger()->log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
  });
}

}  // namespace tensorscope
