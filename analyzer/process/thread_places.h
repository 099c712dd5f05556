// SPDX-License-Identifier: Apache-2.0
// Where the threads of a stopped process stand: whether a function may be called on one of them as if it had called it
// itself, with no lock of the loader's or malloc's held.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace tensorscope::process {

struct ThreadPlace {
  bool safe = false;     // a function may be called there
  bool loading = false;  // it is inside the dynamic loader
  std::string why;       // where not safe
};

class ThreadPlaces {
 public:
  // Reads which objects the process has mapped. Null where that fails.
  static std::unique_ptr<ThreadPlaces> open(pid_t pid);
  virtual ~ThreadPlaces() = default;

  // Context: all threads are stopped.
  virtual ThreadPlace of(pid_t thread) = 0;
};

// Of the function of libc through which a thread has entered it: whether it waits there, with no lock of libc's held.
bool waits_in(const std::string& function);

}  // namespace tensorscope::process
