// Loads libtensorscope.so into a process that runs already and starts it there.
//
// A CPython that takes scripts does it itself (python_attach.h). Any other process is stopped for some milliseconds to
// see where its threads are, and then one of them, which waits or computes with no lock of libc's held, calls dlopen()
// and tensorscope_attach(). Whatever fails, the program goes on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace tensorscope::process {

struct AttachRequest {
  pid_t pid = 0;
  std::string library;                     // absolute path
  std::vector<std::string> settings;       // TENSORSCOPE_NAME=VALUE
  std::chrono::milliseconds most{10'000};  // to wait for a safe place
};

// Empty: the library records there. Else one line that says why not.
std::string attach_library(const AttachRequest& request);

}  // namespace tensorscope::process
