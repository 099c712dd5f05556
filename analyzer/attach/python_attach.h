// Loads libtensorscope.so into a running Python program by a script that the program's own interpreter runs
// (remote_interpreter.h).
#pragma once

#include <optional>
#include <string>

#include "attach/remote_interpreter.h"
#include "attach/remote_library.h"

namespace tensorscope::attach {

// The script: loads the library, starts it with the settings, and writes how that went to the address.
std::string attach_script(const AttachRequest& request, uint64_t answer);

// A request that the interpreter was given. The script's file lies in a folder of the process's own until the end.
class PythonAttach {
 public:
  // Nothing is asked for if no folder can be written that the process sees.
  PythonAttach(const RemoteInterpreter& interpreter, const AttachRequest& request);
  ~PythonAttach();
  PythonAttach(const PythonAttach&) = delete;
  PythonAttach& operator=(const PythonAttach&) = delete;

  // Waits until the thread has begun with the script. Returns false if it has not within that time, or was not asked.
  bool begins_within(std::chrono::milliseconds most) const;
  // Empty: the library records there. Else one line that says why not. Call it once the script has begun.
  std::string outcome() const;
  // Takes the request back. Context: the process is stopped. Returns false if the script has begun already.
  bool take_back() const;

 private:
  const RemoteInterpreter interpreter_;
  const pid_t pid_;
  std::string folder_;  // as this program sees it; empty: there is none
  bool asked_ = false;
};

}  // namespace tensorscope::attach
