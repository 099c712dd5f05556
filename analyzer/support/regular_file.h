// SPDX-License-Identifier: Apache-2.0
// Opens files whose names come from a dump. Only a regular file of a real file system is ever opened for reading: what
// a path leads to is looked at first (O_PATH), so that no device, pipe or file of /proc and /sys is touched.
#pragma once

#include <sys/stat.h>

#include <string>

namespace tensorscope::analyzer {

class RegularFile {
 public:
  RegularFile() = default;
  ~RegularFile();
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&& other) noexcept;

  // Each is empty where there is no such file, or it is none of that kind.
  static RegularFile open(const std::string& path);
  // `path` below `folder`. Refused where `..` or a symbolic link leads out of the folder.
  static RegularFile open_beneath(const std::string& folder, const std::string& path);
  // `folder` stands for `/`: absolute symbolic links and `..` stay inside.
  static RegularFile open_in_root(const std::string& folder, const std::string& path);

  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const struct stat& status() const { return status_; }
  uint64_t written_unix_ns() const;
  // The whole content; "" where it is larger than `most` or cannot be read.
  std::string content(size_t most) const;

 private:
  static RegularFile from_path_descriptor(int path);
  int fd_ = -1;
  struct stat status_ = {};
};

namespace detail {
// What open_beneath() does on a kernel without openat2 (before 5.6) or where it is not allowed: no symbolic link and no
// `..` at all. An O_PATH descriptor, or -1.
int walk_beneath(int folder, const std::string& path);
}  // namespace detail

}  // namespace tensorscope::analyzer
