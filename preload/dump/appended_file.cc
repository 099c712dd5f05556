// SPDX-License-Identifier: Apache-2.0
#include "dump/appended_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <utility>

#include "support/log.h"
#include "support/options.h"
#include "support/process_info.h"
#include "support/signal_taken.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::dump {

namespace {

// False: errno says why.
bool write_all(int file, const iovec* parts, int count, uint64_t at) {
  const SignalTaken no_end(SIGXFSZ);  // a limit on the size of files would end the program
  for (int i = 0; i < count; ++i) {
    const char* data = static_cast<const char*>(parts[i].iov_base);
    for (size_t left = parts[i].iov_len; left > 0;) {
      const ssize_t written = pwrite(file, data, left, off_t(at));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        if (written == 0) errno = ENOSPC;
        return false;
      }
      data += written;
      left -= size_t(written);
      at += uint64_t(written);
    }
  }
  return true;
}

// As format::chunk_checksum().
uint64_t checksum_of(const format::ChunkHeader& header, std::span<const AppendedFile::Part> payload) {
  XXH3_state_t state = {};
  XXH3_64bits_reset_withSeed(&state, XXH3_64bits(&header, offsetof(format::ChunkHeader, checksum)));
  for (const AppendedFile::Part& part : payload) XXH3_64bits_update(&state, part.data, part.size);
  return XXH3_64bits_digest(&state);
}

}  // namespace

bool AppendedFile::fail(const char* what, int error) {
  error_ = error;
  failed_ = what;
  return false;
}

bool AppendedFile::create(const char* directory) {
  const ProcessInfo& process = process_info();
  constexpr unsigned kMaxTries = 1000;
  int file = -1;
  for (unsigned attempt = 1; file < 0 && attempt <= kMaxTries; ++attempt) {
    char rank[16] = "", again[16] = "";
    if (process.rank >= 0) snprintf(rank, sizeof rank, ".rank%d", process.rank);
    if (attempt > 1) snprintf(again, sizeof again, "-%u", attempt);
    constexpr int kLongestProgram = 150;
    const int size = snprintf(path_, sizeof path_, "%s/%.*s%s.%u%s%s", directory, kLongestProgram, process.program,
                              rank, process.pid, again, kind_.suffix);
    if (size < 0 || size_t(size) >= sizeof path_) {
      path_[0] = 0;
      return fail("name the file", ENAMETOOLONG);
    }
    file = open(path_, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0 && errno != EEXIST) break;
  }
  if (file < 0) {
    path_[0] = 0;
    return fail("create the file", errno);
  }
  format::FileHeader header = {};
  memcpy(header.magic, kind_.magic, sizeof header.magic);
  header.major = kind_.major;
  header.minor = kind_.minor;
  header.checksum = format::header_checksum(header);
  const iovec part = {&header, sizeof header};
  struct stat status;
  const bool good = fstat(file, &status) == 0 && write_all(file, &part, 1, 0);
  const int error = errno;
  if (!good) unlink(path_);
  close(file);
  if (!good) {
    path_[0] = 0;
    return fail("write", error);
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  bytes_ = sizeof header;
  log(LogLevel::info, "writes {}", path_);
  return true;
}

int AppendedFile::open_again() {
  const int file = open(path_, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) {
    fail("open the file again", errno);
    return -1;
  }
  struct stat status;
  if (fstat(file, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_ &&
      uint64_t(status.st_size) == bytes_) {
    return file;
  }
  close(file);
  fail("find the file as it was left", ESTALE);
  return -1;
}

bool AppendedFile::take_place_of(AppendedFile& other) {
  for (AppendedFile* each : {this, &other}) {
    const int file = each->open_again();
    if (file < 0) return false;
    close(file);
  }
  if (rename(path_, other.path_) != 0) return fail("rename the file to its place", errno);
  memcpy(path_, other.path_, sizeof path_);
  other.path_[0] = 0;
  return true;
}

void AppendedFile::remove() {
  if (const int file = exists() ? open_again() : -1; file >= 0) {
    close(file);
    unlink(path_);
  }
  path_[0] = 0;
}

bool AppendedFile::append(uint32_t type, const void* payload, size_t length) {
  const Part whole = {payload, length};
  return append(type, {&whole, 1});
}

bool AppendedFile::append_last(uint32_t type, const void* payload, size_t length) {
  const int error = std::exchange(error_, 0);
  const char* const failed = failed_;
  const bool good = append(type, payload, length);
  if (error == 0) return good;
  error_ = error;
  failed_ = failed;
  return good;
}

bool AppendedFile::append(uint32_t type, std::span<const Part> payload) {
  if (error_ != 0) return false;
  const int file = open_again();
  if (file < 0) return false;
  constexpr char kZeros[8] = {};
  constexpr int kMaxParts = 3;
  format::ChunkHeader header = {type, 0, 0, 0};
  iovec parts[kMaxParts + 2];
  int count = 1;
  for (const Part& part : payload) {
    header.length += part.size;
    parts[count++] = {const_cast<void*>(part.data), part.size};
  }
  header.checksum = checksum_of(header, payload);
  parts[0] = {&header, sizeof header};
  parts[count++] = {const_cast<char*>(kZeros), format::padding(header.length)};
  const bool good = write_all(file, parts, count, bytes_);
  if (good) {
    bytes_ += sizeof header + header.length + format::padding(header.length);
    ++chunks_;
  } else {
    fail("write", errno);
    if (ftruncate(file, off_t(bytes_)) != 0) failed_ = "write, nor cut the file to its last whole chunk";
  }
  close(file);
  return good;
}

std::string directory_of_files() {
  const char* directory = options().directory;
  const char* here = process_info().directory;
  if (!directory || *directory == 0) return here;
  return directory[0] == '/' ? directory : std::string(here) + "/" + directory;
}

}  // namespace tensorscope::dump
