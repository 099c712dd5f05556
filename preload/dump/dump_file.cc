// SPDX-License-Identifier: Apache-2.0
#include "dump/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "support/private_descriptor_table.h"
#include "support/signal_taken.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::dump {

namespace {

uint32_t random_word() {
  uint32_t word = 0;
  if (getrandom(&word, sizeof(word), GRND_NONBLOCK) == ssize_t(sizeof(word))) return word;
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return uint32_t(t.tv_nsec) * 2654435761u ^ uint32_t(getpid());
}

// Links to what a descriptor stands for, also where that has no name (open(2), O_TMPFILE).
struct PathOfDescriptor {
  char text[40];
  // Of this thread: its descriptors need not be the program's.
  explicit PathOfDescriptor(int number) { snprintf(text, sizeof(text), "/proc/thread-self/fd/%d", number); }
};

}  // namespace

bool DumpFile::fail(const char* what, int error) {
  if (error_ == 0) {
    error_ = error;
    failed_ = what;
  }
  return false;
}

bool DumpFile::Descriptor::remember(int opened) {
  struct stat status;
  number = move_to_high_number(opened);
  programs = !has_private_descriptors();
  if (number < 0 || fstat(number, &status) != 0) return false;
  device = status.st_dev;
  inode = status.st_ino;
  return true;
}

bool DumpFile::Descriptor::is_own_file() const {
  struct stat status;
  return number >= 0 && fstat(number, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

void DumpFile::Descriptor::close_ours() {
  if (is_own_file()) close(number);
  number = -1;
}

bool DumpFile::open(const char* directory, const char* name, Temporary temporary) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  directory_path_ = directory;
  int opened = ::open(directory, kFlags);
  if (opened < 0 && errno == ENOENT && mkdir(directory, 0777) == 0) opened = ::open(directory, kFlags);
  if (!directory_.remember(opened)) return fail("open the directory", errno);
  const bool made = (temporary == Temporary::unnamed && make_unnamed()) || make_named(name);
  if (!made || fchmod(file_.number, 0600) != 0) return fail("make a file", errno);

  format::FileHeader header = {};
  memcpy(header.magic, format::kMagic, sizeof(header.magic));
  header.major = format::kFormatMajor;
  header.minor = format::kFormatMinor;
  header.checksum = format::header_checksum(header);
  return write_all(&header, sizeof(header));
}

bool DumpFile::make_unnamed() {
  const int opened = openat(directory_.number, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (opened < 0) return false;
  if (file_.remember(opened) && access(PathOfDescriptor(file_.number).text, F_OK) == 0) return true;
  file_.close_ours();  // there is no /proc to link it by
  return false;
}

bool DumpFile::make_named(const char* name) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // A name that does not end in ".tscope": what a killed process leaves behind is never taken for a dump.
    snprintf(temporary_, sizeof(temporary_), ".%.*s.tmp-%08x", int(sizeof(temporary_) - 16), name, random_word());
    const int opened =
        openat(directory_.number, temporary_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (opened >= 0) return file_.remember(opened);
    if (errno != EEXIST) break;
  }
  temporary_[0] = 0;
  return false;
}

bool DumpFile::write_all(const void* data, size_t size) {
  constexpr size_t kPiece = size_t{1} << 20;
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    if (!file_.is_own_file()) return fail("write (the program closed the descriptor)", EBADF);
    const SignalTaken no_end(SIGXFSZ);  // of a limit on the size of files
    const ssize_t written = write(file_.number, next, size < kPiece ? size : kPiece);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail("write", written < 0 ? errno : ENOSPC);
    next += written;
    size -= size_t(written);
    bytes_ += uint64_t(written);
    send_to_disk();
  }
  return true;
}

// Pages that are not on the disk yet count in a control group, and those of version 1 are not sent there before it is
// full. Errors change nothing: then they wait.
void DumpFile::send_to_disk() {
  constexpr uint64_t kPiece = uint64_t{2} << 20;
  if (!write_through_ || bytes_ - on_disk_ < kPiece || !file_.is_own_file()) return;
  constexpr unsigned kWait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  sync_file_range(file_.number, off64_t(on_disk_), off64_t(bytes_ - on_disk_), kWait);
  posix_fadvise(file_.number, off_t(on_disk_), off_t(bytes_ - on_disk_), POSIX_FADV_DONTNEED);
  on_disk_ = bytes_;
}

bool DumpFile::is_in_memory() const {
  struct statfs system;
  return fstatfs(directory_.number, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

bool DumpFile::append(uint32_t type, const void* payload, size_t length) {
  if (error_ != 0) return false;
  if (length > format::kMaxChunkBytes) return fail("write (a chunk is too large)", EFBIG);
  constexpr char kZeros[8] = {};
  format::ChunkHeader header = {type, 0, length, 0};
  header.checksum = format::chunk_checksum(header, payload);
  if (!write_all(&header, sizeof(header)) || !write_all(payload, length) ||
      !write_all(kZeros, format::padding(length))) {
    return false;
  }
  ++chunks_;
  return true;
}

int DumpFile::link_unnamed(const char* name) {
  if (!file_.is_own_file()) {
    errno = EBADF;
    return -1;
  }
  return linkat(AT_FDCWD, PathOfDescriptor(file_.number).text, directory_.number, name, AT_SYMLINK_FOLLOW);
}

int DumpFile::rename_named(const char* name) {
  const int directory = directory_.number;
  if (syscall(SYS_renameat2, directory, temporary_, directory, name, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  // A file system or kernel without that: a hard link does not replace either; where there are none, look first.
  if (linkat(directory, temporary_, directory, name, 0) == 0) {
    unlinkat(directory, temporary_, 0);
    return 0;
  }
  if (errno == EEXIST) return -1;
  struct stat status;
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return -1;
  }
  return renameat(directory, temporary_, directory, name);
}

bool DumpFile::give_name(const char* name) {
  if (error_ == EEXIST) error_ = 0;
  if (error_ != 0) return false;
  if (!directory_.is_own_file()) return fail("name the file (the program closed the descriptor)", EBADF);
  if ((temporary_[0] == 0 ? link_unnamed(name) : rename_named(name)) != 0) return fail("name the file", errno);
  temporary_[0] = 0;
  return true;
}

void DumpFile::discard() {
  if (temporary_[0] != 0) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", directory_path_, temporary_);
    unlink(path);
  }
  forget();
}

void DumpFile::forget() {
  temporary_[0] = 0;
  file_.close_ours();
  directory_.close_ours();
}

void DumpFile::forget_in_child() {
  for (Descriptor* each : {&file_, &directory_}) {
    if (!each->programs)
      each->number = -1;  // of a table that the child has no part in: there the number is another file
  }
  forget();
}

}  // namespace tensorscope::dump
