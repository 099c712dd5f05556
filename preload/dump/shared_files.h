// SPDX-License-Identifier: Apache-2.0
// Who holds what lies in shared memory, the files of /dev/shm: this process, other processes as far as /proc lets them
// be read, and nobody. A file that was removed and is still open or mapped holds its memory, too: PyTorch removes those
// of its tensors at once.
//
// Context: collector, no lock held. The look happens on a thread that is given up when it takes too long, since another
// process may hold the lock of its own mappings for as long as it likes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dump/failure.h"
#include "support/system_limits.h"

namespace tensorscope::dump {

struct SharedHolder {
  uint32_t pid = 0;    // 0: nobody who was looked at
  char name[48] = "";  // of the process; of what nobody holds: of the largest file
  uint32_t files = 0;
  uint64_t bytes = 0, deleted = 0;  // deleted: of these, in files that were removed
};

struct SharedFiles {
  static constexpr size_t kMaxHolders = 24;
  LimitState space;                   // of the file system
  bool looked = false;                // the holders are known
  const char* detail = "";            // why not, or why not all; a literal
  size_t count = 0;                   // of holders
  SharedHolder holders[kMaxHolders];  // this process first, then those who hold the most
};

// For a dump of this failure (null: of none): how much is left; and who holds it if that is less than a quarter, or
// what failed, since other processes have to be looked at for it. A file that several hold counts for each.
void look_at_shared_files(const Failure* failure, SharedFiles& found);
// This process alone.
uint64_t shared_bytes_of_this_process();

// The files of one file system as processes hold them, summed up. Memory for it is the caller's.
class FileHolders {
 public:
  void begin(uint64_t device) { device_ = device; }
  // A file that has a name.
  void add_file(uint64_t inode, uint64_t bytes, std::string_view name);
  // What follows belongs to this process.
  void begin_process(uint32_t pid) { pid_ = pid; }
  // A line of /proc/PID/maps.
  void add_mapping(std::string_view line);
  // An open file; `deleted`: it has no name.
  void add_open(uint64_t inode, uint64_t bytes, bool deleted);
  // What this process holds.
  SharedHolder process() const;
  // What no process holds that was looked at.
  SharedHolder unheld() const;
  bool is_full() const { return full_; }

 private:
  struct File {
    uint64_t inode, bytes;
    uint32_t last_pid;
    bool deleted, held;
    char name[48];
  };
  File* find(uint64_t inode);
  void hold(File& file);

  static constexpr size_t kMaxFiles = 4096;
  uint64_t device_;
  uint32_t pid_;
  size_t count_;
  bool full_;  // further files are left out
  File files_[kMaxFiles];
};

}  // namespace tensorscope::dump
