// SPDX-License-Identifier: Apache-2.0
// CPython of 3.14 and later runs a script for a debugger: the debugger writes the script's path into the state of a
// thread, and that thread runs it when it is next between two instructions of Python (PEP 768, what sys.remote_exec()
// does). Nothing is stopped, and no lock of libc's is held there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "process/mapped_files.h"

namespace tensorscope::process {

class RemoteInterpreter {
 public:
  // The main thread of the main interpreter. Nothing if the process has no CPython that is known to take scripts, or if
  // that was switched off there (PYTHON_DISABLE_REMOTE_DEBUG).
  static std::optional<RemoteInterpreter> find(pid_t pid, const MappedFiles& files);
  // The same, where the address of _PyRuntime is known.
  static std::optional<RemoteInterpreter> at(pid_t pid, uint64_t runtime);

  // Bytes in the thread's state that the script may write its answer to; zero when it begins.
  static constexpr size_t kAnswerBytes = 256;
  uint64_t answer() const { return path_ + kPathBytes; }

  // Returns false if the path is too long or the process has ended.
  bool ask_for(const std::string& script) const;
  // Whether the thread has begun with the script, or the process has ended.
  bool has_begun() const;
  // Takes the request back. Context: the process is stopped, or `has_begun` may become true nevertheless.
  void take_back() const;

 private:
  static constexpr size_t kPathBytes = 256;

  pid_t pid_ = 0;
  uint64_t breaker_ = 0, pending_ = 0, path_ = 0;  // addresses
};

}  // namespace tensorscope::process
