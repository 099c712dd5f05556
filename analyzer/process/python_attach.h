// SPDX-License-Identifier: Apache-2.0
// Loads libtensorscope.so into a running Python program by a script that the program's own interpreter runs
// (remote_interpreter.h).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "process/attach_request.h"
#include "process/remote_interpreter.h"

namespace tensorscope::process {

// The script: loads the library, starts it with the settings, and writes how that went to the address.
std::string attach_script(const AttachRequest& request, uint64_t answer);

// A folder that only this user may write, below one that the process sees under the same path. It is removed with its
// script at the end, also if the process has ended.
class ScriptFolder {
 public:
  explicit ScriptFolder(pid_t pid);
  ~ScriptFolder();
  ScriptFolder(const ScriptFolder&) = delete;
  ScriptFolder& operator=(const ScriptFolder&) = delete;

  // Returns false if no folder could be made, or the file could not be written.
  [[nodiscard]] bool write(const std::string& script) const;
  // As the process sees it.
  std::string script_path() const;

 private:
  void remove();

  int parent_ = -1;          // descriptor of the folder that it lies in; -1: there is none
  std::string path_, seen_;  // as this program sees it, and as the process does
};

// A request that the interpreter was given.
class PythonAttach {
 public:
  // Requests nothing if the process sees no folder that can be written.
  PythonAttach(const RemoteInterpreter& interpreter, const AttachRequest& request);
  PythonAttach(const PythonAttach&) = delete;
  PythonAttach& operator=(const PythonAttach&) = delete;

  // Waits until the thread has begun with the script. Returns false if it has not within that time, or was not asked.
  [[nodiscard]] bool begins_within(std::chrono::milliseconds most) const;
  // Waits until the library records there. Throws ProcessError. Call it once the script has begun.
  void await_outcome() const;
  // Takes the request back. Context: the process is stopped. Returns false if the script has begun already.
  [[nodiscard]] bool take_back() const;

 private:
  const RemoteInterpreter interpreter_;
  const pid_t pid_;
  ScriptFolder folder_;
  bool asked_ = false;
};

}  // namespace tensorscope::process
