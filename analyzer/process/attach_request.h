// SPDX-License-Identifier: Apache-2.0
// What is loaded into a process that runs already.
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

}  // namespace tensorscope::process
