// SPDX-License-Identifier: Apache-2.0
// The tensorscope program: runs one command and prints what it says.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "cli/invocation.h"

namespace {

// Standard output or error as it is, with the error that ended it.
class Descriptor : public std::streambuf {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) { setp(buffer_, buffer_ + sizeof buffer_); }

  bool write_all(std::string_view text) {
    while (!text.empty() && error_ == 0) {
      ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written >= 0) {
        text.remove_prefix(size_t(written));
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    return error_ == 0;
  }
  // A reader that went away (| head) is no error.
  int error() const { return error_ == EPIPE ? 0 : error_; }

 protected:
  int overflow(int c) override {
    if (sync() != 0) return traits_type::eof();
    if (c != traits_type::eof()) sputc(char(c));
    return 0;
  }
  int sync() override {
    bool written = write_all({pbase(), size_t(pptr() - pbase())});
    setp(buffer_, buffer_ + sizeof buffer_);
    return written ? 0 : -1;
  }

 private:
  int descriptor_;
  int error_ = 0;
  char buffer_[1 << 16];
};

}  // namespace

int main(int argc, char** argv) {
  Descriptor out(STDOUT_FILENO), err(STDERR_FILENO);
  std::ostream stream(&out);
  tensorscope::cli::Invocation invocation;
  invocation.stream = &stream;
  int status = run_command_line(std::vector<std::string>(argv + 1, argv + argc), nullptr, invocation);
  stream.flush();
  out.write_all(invocation.out);
  if (out.error() != 0) {
    invocation.say(std::string("cannot write standard output: ") + strerror(out.error()) + ".");
    status = tensorscope::cli::kBadInput;
  }
  err.write_all(invocation.err);
  return status;
}
