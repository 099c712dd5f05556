// SPDX-License-Identifier: Apache-2.0
// A dump file being written: a file without a name in the dump's folder (O_TMPFILE), chunks appended with raw writes,
// and a link that never replaces another file once everything is there. Of a process that is killed nothing is left.
//
// Where the file system or kernel has no such files (NFS; no /proc to link by), the file has a temporary name until it
// is renamed; whatever fails removes it, and a process that is killed leaves it behind.
//
// Context: collector. One thread at a time an object.
#pragma once

#include <limits.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "dump/chunk_sink.h"

namespace tensorscope::dump {

class DumpFile : public ChunkSink {
 public:
  DumpFile() = default;
  ~DumpFile() { discard(); }
  DumpFile(const DumpFile&) = delete;
  DumpFile& operator=(const DumpFile&) = delete;

  enum class Temporary : bool { unnamed, named };

  // Makes the file for a dump `name` in `directory` (outlives the object) and writes the file header. `temporary`: what
  // to try first.
  bool open(const char* directory, const char* name, Temporary temporary = Temporary::unnamed);

  // What is written from now on goes to the disk at once: where memory is short, its pages should not wait in it.
  void write_through() { write_through_ = true; }
  // Whether what is written stays in memory: the directory is on a tmpfs.
  bool is_in_memory() const;

  bool append(uint32_t type, const void* payload, size_t length) override;

  // Gives the file its name. False with error() == EEXIST: the name is taken, try another.
  bool give_name(const char* name);

  // Gives the file up: nothing is left of it.
  void discard();

  // Context: fork child. An inherited descriptor is closed; the file belongs to the parent.
  void forget_in_child();

  uint32_t chunks() const { return chunks_; }
  uint64_t bytes() const { return bytes_; }
  // errno of what failed, and what it was ("open the directory", "write"); 0: nothing failed.
  int error() const { return error_; }
  const char* failed() const { return failed_; }

 private:
  void forget();
  bool fail(const char* what, int error);
  bool write_all(const void* data, size_t size);
  void send_to_disk();
  bool make_unnamed();
  bool make_named(const char* name);
  // 0, or -1 and errno. EEXIST: the name is taken.
  int link_unnamed(const char* name);
  int rename_named(const char* name);

  // What an open descriptor stood for when it was opened: a program that closes all descriptors may give the number to
  // a file of its own, if it was opened in the program's table (private_descriptor_table.h).
  struct Descriptor {
    int number = -1;
    bool programs = false;
    dev_t device = 0;
    ino_t inode = 0;
    bool remember(int opened);
    bool is_own_file() const;
    void close_ours();
  };

  const char* directory_path_ = "";
  Descriptor directory_;
  Descriptor file_;
  char temporary_[NAME_MAX + 1] = "";  // empty: the file has no name
  uint32_t chunks_ = 0;
  uint64_t bytes_ = 0;
  bool write_through_ = false;
  uint64_t on_disk_ = 0;  // of bytes_, where they are written through
  int error_ = 0;
  const char* failed_ = "";
};

}  // namespace tensorscope::dump
