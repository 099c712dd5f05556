// SPDX-License-Identifier: Apache-2.0
// A file that is appended to while the program runs: values, a recording. No descriptor is kept: each append opens the
// file by its name, looks whether it is still the one that was made, and closes it. What cannot be written whole is cut
// off again, so that the file is whole up to its last chunk at any moment; it never takes the name of another file.
//
// Context: collector. One thread at a time.
#pragma once

#include <limits.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "dump/chunk_sink.h"

namespace tensorscope::dump {

// What a file is, besides its chunks.
struct FileKind {
  const char* suffix;  // of its name, with the dot
  const char (&magic)[8];
  uint32_t major, minor;
};

class AppendedFile : public ChunkSink {
 public:
  explicit AppendedFile(const FileKind& kind) : kind_(kind) {}

  // PROGRAM[.rankR].PID and the suffix in `directory`, "-2" and so on before it where that is taken.
  bool create(const char* directory);
  bool append(uint32_t type, const void* payload, size_t length) override;
  struct Part {
    const void* data;
    size_t size;
  };
  bool append(uint32_t type, std::span<const Part> payload);  // three parts at most
  // The last chunk, also after a failure: what was cut off may have left room for one that is small.
  bool append_last(uint32_t type, const void* payload, size_t length);

  // Gives this file the other's name; the other is gone. False: neither was changed.
  bool take_place_of(AppendedFile& other);
  void remove();

  bool exists() const { return path_[0] != 0; }
  const char* path() const { return path_; }
  uint64_t bytes() const { return bytes_; }
  uint32_t chunks() const { return chunks_; }
  // errno of what failed, and what it was; 0: nothing failed.
  int error() const { return error_; }
  const char* failed() const { return failed_; }

 private:
  bool fail(const char* what, int error);
  int open_again();

  const FileKind& kind_;  // outlives the object
  char path_[PATH_MAX] = "";
  dev_t device_ = 0;
  ino_t inode_ = 0;
  uint64_t bytes_ = 0;
  uint32_t chunks_ = 0;
  int error_ = 0;
  const char* failed_ = "";
};

// Where such files go: TENSORSCOPE_DIR, else where the process started.
std::string directory_of_files();

}  // namespace tensorscope::dump
