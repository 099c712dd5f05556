// SPDX-License-Identifier: Apache-2.0
// Reads the wanted lines of source files on a thread of its own with a limit on the time: a file system that hangs
// must not hang the dump. What was read by then is kept, the thread is given up. At most one such thread is alive;
// while it hangs, later dumps have no source lines.
//
// Context: collector. The thread uses no malloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dump/source/source_file.h"
#include "dump/source/wanted_lines.h"
#include "support/timed_thread.h"

namespace tensorscope::dump {

class SourceReader {
 public:
  static constexpr unsigned kPatienceMs = 1000;

  // Starts to read; once an object. Relative paths are of `directory`.
  void start(const WantedLines& wanted, const char* directory, uint64_t newest_unix_ns,
             unsigned patience_ms = kPatienceMs);
  // Waits until all is read, at most until `patience_ms` after start().
  void wait();
  // After wait(): the files that were looked at, in the order of WantedLines::files. Valid as long as the object.
  std::span<const SourceFile> files() const;
  // Why there are no more; "" where all were looked at.
  const char* why() const { return why_; }

 private:
  struct Files;
  static void read(TimedThread::Shared& files);
  static const TimedThread::Kind kKind;
  TimedThread thread_;
  size_t done_ = 0;
  const char* why_ = "";
};

}  // namespace tensorscope::dump
