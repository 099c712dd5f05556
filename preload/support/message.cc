// SPDX-License-Identifier: Apache-2.0
#include "support/message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "support/log.h"
#include "support/programs_side.h"
#include "support/signal_taken.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope {

namespace {

constexpr int kReaderPatienceMs = 100;
constexpr size_t kLineBytes = 1024;  // below PIPE_BUF: a line is never torn

// What descriptor 2 was at the start. Closed is a state: whatever takes the number later is not standard error, be it a
// terminal.
enum class AtStart : uint8_t { unknown, open, closed };
constinit std::atomic<AtStart> g_at_start{AtStart::unknown};
constinit dev_t g_device = 0;
constinit ino_t g_inode = 0;

bool is_the_programs_standard_error() {
  struct stat now;
  const AtStart at_start = g_at_start.load(std::memory_order_acquire);
  if (at_start == AtStart::closed || fstat(STDERR_FILENO, &now) != 0) return false;
  if (at_start == AtStart::unknown) return true;
  return (now.st_dev == g_device && now.st_ino == g_inode) || isatty(STDERR_FILENO);
}

// On a thread that has the program's descriptors.
void write_here(const char* text, size_t size) {
  if (!is_the_programs_standard_error()) return;
  const SignalTaken no_sigpipe(SIGPIPE);
  while (size > 0) {
    pollfd reader{STDERR_FILENO, POLLOUT, 0};
    if (poll(&reader, 1, kReaderPatienceMs) == 0) break;  // a full pipe: losing the line is better than waiting
    const ssize_t written = write(STDERR_FILENO, text, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text += written;
    size -= size_t(written);
  }
}

}  // namespace

void remember_closed_standard_error() {
  struct stat now;
  const int saved_errno = errno;
  if (fstat(STDERR_FILENO, &now) != 0) g_at_start.store(AtStart::closed, std::memory_order_release);
  errno = saved_errno;
}

void remember_standard_error() {
  if (g_at_start.load(std::memory_order_acquire) == AtStart::closed) return;
  struct stat now;
  const int saved_errno = errno;
  const bool open = fstat(STDERR_FILENO, &now) == 0;
  if (open) {
    g_device = now.st_dev;
    g_inode = now.st_ino;
  }
  g_at_start.store(open ? AtStart::open : AtStart::closed, std::memory_order_release);
  errno = saved_errno;
}

void write_standard_error(const char* text, size_t size) {
  const int saved_errno = errno;
  run_on_programs_side([&] { write_here(text, size); });
  errno = saved_errno;
}

void say(const char* format, ...) {
  static constexpr char kPrefix[] = "tensorscope: ";
  char line[kLineBytes];
  memcpy(line, kPrefix, sizeof(kPrefix) - 1);
  char* text = line + sizeof(kPrefix) - 1;
  const size_t room = sizeof(line) - (sizeof(kPrefix) - 1);  // the byte of the terminating zero becomes the newline
  va_list arguments;
  va_start(arguments, format);
  const int wanted = vsnprintf(text, room, format, arguments);
  va_end(arguments);
  if (wanted < 0) return;
  const size_t length = std::min(size_t(wanted), room - 1);
  silence_text(text, length);
  if (!log_is_standard_error()) queue_log_line(LogLevel::info, {text, length});
  text[length] = '\n';
  write_standard_error(line, size_t(text - line) + length + 1);
}

}  // namespace tensorscope
