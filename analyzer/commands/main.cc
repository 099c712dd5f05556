// The tensorscope program: runs one command and prints what it says.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "commands/invocation.h"

namespace {

// False where the text could not be written. A reader that went away (| head) is no error.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno == EPIPE;
    text.remove_prefix(size_t(written));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  tensorscope::commands::Invocation invocation;
  invocation.stream = &std::cout;
  int status = run_command_line(std::vector<std::string>(argv + 1, argv + argc), nullptr, invocation);
  errno = 0;
  std::cout.flush();
  bool written = std::cout.good() || errno == EPIPE;
  if (!written || !write_all(STDOUT_FILENO, invocation.out)) {
    invocation.say(std::string("standard output cannot be written: ") + strerror(errno) + ".");
    status = tensorscope::commands::kBadInput;
  }
  write_all(STDERR_FILENO, invocation.err);
  return status;
}
