// SPDX-License-Identifier: Apache-2.0
#include "dump/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/error.h"

namespace tensorscope::analyzer {

namespace {

class FileSource : public ByteSource {
 public:
  FileSource(int fd, uint64_t size) : fd_(fd), size_(size) {}
  ~FileSource() override { close(fd_); }
  uint64_t size() const override { return size_; }
  void refresh_size() override {
    struct stat status;
    if (fstat(fd_, &status) == 0) size_ = uint64_t(std::max<off_t>(status.st_size, 0));
  }
  size_t read(uint64_t offset, void* out, size_t size) const override {
    size_t done = 0;
    while (done < size) {
      ssize_t got = pread(fd_, static_cast<char*>(out) + done, size - done, off_t(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += size_t(got);
    }
    return done;
  }

 private:
  int fd_;
  uint64_t size_;
};

class MemorySource : public ByteSource {
 public:
  MemorySource(const void* data, size_t size) : data_(static_cast<const char*>(data)), size_(size) {}
  uint64_t size() const override { return size_; }
  size_t read(uint64_t offset, void* out, size_t size) const override {
    if (offset >= size_) return 0;
    size = size_t(std::min<uint64_t>(size, size_ - offset));
    std::memcpy(out, data_ + offset, size);
    return size;
  }

 private:
  const char* data_;
  uint64_t size_;
};

}  // namespace

std::unique_ptr<ByteSource> open_file(const std::string& path, const char* suffix) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) throw BadInput(path + " cannot be opened: " + std::strerror(errno) + ".");
  struct stat status;
  if (fstat(fd, &status) != 0) {
    std::string reason = std::strerror(errno);
    close(fd);
    throw BadInput(path + " cannot be read: " + reason + ".");
  }
  auto source = std::make_unique<FileSource>(fd, uint64_t(std::max<off_t>(status.st_size, 0)));
  if (S_ISDIR(status.st_mode)) throw BadInput(path + " is a directory; give one of the " + suffix + " files in it.");
  if (!S_ISREG(status.st_mode)) throw BadInput(path + " is not a file; give a " + suffix + " file.");
  return source;
}

std::unique_ptr<ByteSource> wrap_memory(const void* data, size_t size) {
  return std::make_unique<MemorySource>(data, size);
}

}  // namespace tensorscope::analyzer
