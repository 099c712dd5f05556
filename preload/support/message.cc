#include "support/message.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "tensorscope/rules/utf8.h"

namespace tensorscope {

namespace {

constexpr int kReaderPatienceMs = 100;
constexpr size_t kLineBytes = 1024;  // below PIPE_BUF: a line is never torn

constinit std::atomic<bool> g_remembered{false};
constinit dev_t g_device = 0;
constinit ino_t g_inode = 0;

bool is_the_programs_standard_error() {
  struct stat now;
  if (fstat(STDERR_FILENO, &now) != 0) return false;
  if (!g_remembered.load(std::memory_order_acquire)) return true;
  return (now.st_dev == g_device && now.st_ino == g_inode) || isatty(STDERR_FILENO);
}

// Keeps a SIGPIPE that the write raises from the program: it is delivered to this thread, blocked, and taken away.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec at_once{0, 0};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

}  // namespace

void remember_standard_error() {
  struct stat now;
  const int saved_errno = errno;
  if (fstat(STDERR_FILENO, &now) == 0) {
    g_device = now.st_dev;
    g_inode = now.st_ino;
  } else {
    g_inode = ino_t(-1);  // closed from the start: whatever takes the number later is not standard error
  }
  g_remembered.store(true, std::memory_order_release);
  errno = saved_errno;
}

void write_standard_error(const char* text, size_t size) {
  const int saved_errno = errno;
  if (is_the_programs_standard_error()) {
    NoSigpipe no_sigpipe;
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
  text[length] = '\n';
  write_standard_error(line, size_t(text - line) + length + 1);
}

}  // namespace tensorscope
