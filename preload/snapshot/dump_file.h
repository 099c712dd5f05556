// A dump file being written: a temporary file in the dump's folder, chunks appended with raw writes, and a rename that
// never replaces another file once everything is there. Whatever fails removes the temporary file again.
//
// Context: collector. One thread at a time an object.
#pragma once

#include <limits.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace tensorscope::snapshot {

class DumpFile {
 public:
  DumpFile() = default;
  ~DumpFile() { discard(); }
  DumpFile(const DumpFile&) = delete;
  DumpFile& operator=(const DumpFile&) = delete;

  // Makes the temporary file for a dump `name` in `directory` (outlives the object) and writes the file header.
  bool open(const char* directory, const char* name);

  // Appends one chunk; `payload` is a size-prefixed FlatBuffer.
  bool append(uint32_t type, const void* payload, size_t length);

  // Gives the file its name. False with error() == EEXIST: the name is taken, try another.
  bool rename_to(const char* name);

  // Removes the temporary file, where there is one.
  void discard();

  // Context: fork child. The inherited descriptor is closed; the file belongs to the parent.
  void forget();

  uint32_t chunks() const { return chunks_; }
  uint64_t bytes() const { return bytes_; }
  // errno of what failed, and what it was ("open the directory", "write"); 0: nothing failed.
  int error() const { return error_; }
  const char* failed() const { return failed_; }

 private:
  bool fail(const char* what, int error);
  bool write_all(const void* data, size_t size);

  // What an open descriptor stood for when it was opened: a program that closes all descriptors may give the number to
  // a file of its own.
  struct Descriptor {
    int number = -1;
    dev_t device = 0;
    ino_t inode = 0;
    bool remember(int opened);
    bool still_ours() const;
    void close_ours();
  };

  const char* directory_path_ = "";
  Descriptor directory_;
  Descriptor file_;
  char temporary_[NAME_MAX + 1] = "";
  uint32_t chunks_ = 0;
  uint64_t bytes_ = 0;
  int error_ = 0;
  const char* failed_ = "";
};

}  // namespace tensorscope::snapshot
