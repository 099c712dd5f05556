// SPDX-License-Identifier: Apache-2.0
#include "cli/replaced_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tensorscope::cli {

ReplacedFile::ReplacedFile(const std::string& path) : path_(path), temporary_(path + ".tmp-XXXXXX") {
  int descriptor = mkstemp(temporary_.data());
  if (descriptor < 0) {
    error_ = errno;
    return;
  }
  mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  close(descriptor);
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!stream_) error_ = errno;
}

ReplacedFile::~ReplacedFile() {
  if (!done_ && error_ == 0) unlink(temporary_.c_str());
}

bool may_write(const std::string& path, bool force, Invocation& invocation) {
  if (force || access(path.c_str(), F_OK) != 0) return true;
  invocation.say(path + " already exists; use --force to overwrite it.");
  return false;
}

bool write_file(const std::string& path, const std::string& text, bool force, Invocation& invocation) {
  if (!may_write(path, force, invocation)) return false;
  ReplacedFile file(path);
  int error = file.error();
  if (error == 0) {
    file.stream() << text;
    error = file.finish();
  }
  if (error != 0) invocation.say(fmt::format("cannot write {}: {}.", path, strerror(error)));
  return error == 0;
}

int ReplacedFile::finish() {
  errno = 0;
  stream_.close();
  if (!stream_) return errno != 0 ? errno : EIO;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return errno;
  done_ = true;
  return 0;
}

bool may_write_folder(const std::string& folder, bool force, Invocation& invocation) {
  std::error_code error;
  if (force || !std::filesystem::exists(folder, error) || std::filesystem::is_empty(folder, error)) return true;
  invocation.say(folder + " is not empty; use --force to write into it.");
  return false;
}

}  // namespace tensorscope::cli
