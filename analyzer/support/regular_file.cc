// SPDX-License-Identifier: Apache-2.0
#include "support/regular_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tensorscope::analyzer {

namespace {

// File systems whose regular files do something when they are read.
bool is_of_the_kernel(int fd) {
  constexpr long kConfigFs = 0x62656570, kFuseControl = 0x65735543;
  struct statfs status;
  if (fstatfs(fd, &status) != 0) return true;
  for (const long type :
       {long(PROC_SUPER_MAGIC), long(SYSFS_MAGIC), long(DEBUGFS_MAGIC), long(TRACEFS_MAGIC), long(SECURITYFS_MAGIC),
        long(CGROUP_SUPER_MAGIC), long(CGROUP2_SUPER_MAGIC), long(BPF_FS_MAGIC), long(EFIVARFS_MAGIC),
        long(SELINUX_MAGIC), long(PSTOREFS_MAGIC), long(NSFS_MAGIC), kConfigFs, kFuseControl}) {
    if (long(status.f_type) == type) return true;
  }
  return false;
}

std::string without_root(const std::string& path) {
  const size_t begin = path.find_first_not_of('/');
  return begin == path.npos ? "" : path.substr(begin);
}

// An O_PATH descriptor of `path` below `folder`, or -1.
int find_path_below(const std::string& folder, const std::string& path, uint64_t resolve) {
  const int root = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -1;
  const std::string wanted = without_root(path);
  struct open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = resolve | RESOLVE_NO_MAGICLINKS;
  int found = int(syscall(SYS_openat2, root, wanted.c_str(), &how, sizeof how));
  if (found < 0 && (errno == ENOSYS || errno == EPERM)) found = detail::walk_beneath(root, wanted);
  close(root);
  return found;
}

}  // namespace

int detail::walk_beneath(int folder, const std::string& path) {
  int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
  for (size_t begin = 0; at >= 0 && begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty() || name == ".") continue;
    const int next = name == ".." ? -1 : openat(at, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    close(at);
    at = next;
  }
  return at;
}

RegularFile::~RegularFile() {
  if (fd_ >= 0) close(fd_);
}

RegularFile::RegularFile(RegularFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)), status_(other.status_) {}

RegularFile& RegularFile::operator=(RegularFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(status_, other.status_);
  return *this;
}

RegularFile RegularFile::from_path_descriptor(int path) {
  RegularFile file;
  if (path < 0) return file;
  if (fstat(path, &file.status_) == 0 && S_ISREG(file.status_.st_mode) && !is_of_the_kernel(path)) {
    const std::string link = "/proc/self/fd/" + std::to_string(path);
    file.fd_ = ::open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  }
  close(path);
  return file;
}

RegularFile RegularFile::open(const std::string& path) {
  return from_path_descriptor(::open(path.c_str(), O_PATH | O_CLOEXEC));
}

RegularFile RegularFile::open_beneath(const std::string& folder, const std::string& path) {
  return from_path_descriptor(find_path_below(folder, path, RESOLVE_BENEATH));
}

RegularFile RegularFile::open_in_root(const std::string& folder, const std::string& path) {
  return from_path_descriptor(find_path_below(folder, path, RESOLVE_IN_ROOT));
}

uint64_t RegularFile::written_unix_ns() const {
  return uint64_t(status_.st_mtim.tv_sec) * 1'000'000'000 + uint64_t(status_.st_mtim.tv_nsec);
}

std::string RegularFile::content(size_t most) const {
  if (fd_ < 0 || status_.st_size < 0 || uint64_t(status_.st_size) > most) return "";
  std::string text(size_t(status_.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = pread(fd_, text.data() + done, text.size() - done, off_t(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += size_t(got);
  }
  text.resize(done);
  return text;
}

}  // namespace tensorscope::analyzer
