// SPDX-License-Identifier: Apache-2.0
#include "dump/disk_limit.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tensorscope/dump_format.h"

namespace tensorscope::dump {

namespace {

constexpr std::string_view kSuffix = ".tscope";

struct File {
  timespec written;
  uint64_t bytes;
  std::string name;
  bool operator<(const File& other) const {
    if (written.tv_sec != other.written.tv_sec) return written.tv_sec < other.written.tv_sec;
    return written.tv_nsec != other.written.tv_nsec ? written.tv_nsec < other.written.tv_nsec : name < other.name;
  }
};

bool begins_as_dump(int folder, const char* name) {
  const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return false;
  char magic[sizeof(format::kMagic)];
  const bool is_dump =
      read(file, magic, sizeof(magic)) == ssize_t(sizeof(magic)) && memcmp(magic, format::kMagic, sizeof(magic)) == 0;
  close(file);
  return is_dump;
}

std::vector<File> dumps_in(DIR* folder) {
  std::vector<File> files;
  while (const dirent* entry = readdir(folder)) {
    const char* const name = entry->d_name;
    struct stat status;
    if (!std::string_view(name).ends_with(kSuffix)) continue;
    if (fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    if (begins_as_dump(dirfd(folder), name)) files.push_back({status.st_mtim, uint64_t(status.st_blocks) * 512, name});
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Processes that share the folder count one after the other. One that holds it for long is not waited for.
void wait_for_turn(int folder) {
  constexpr timespec kPause = {0, 10'000'000};
  for (int tries = 0; tries < 100 && flock(folder, LOCK_EX | LOCK_NB) != 0; ++tries) nanosleep(&kPause, nullptr);
}

}  // namespace

bool make_room_on_disk(const char* directory, uint64_t limit, uint64_t more) {
  if (more > limit) return false;
  DIR* const folder = opendir(directory);
  if (folder == nullptr) return true;  // what cannot be counted is not limited
  wait_for_turn(dirfd(folder));
  const std::vector<File> files = dumps_in(folder);
  uint64_t all = more;
  for (const File& file : files) all += file.bytes;
  for (const File& file : files) {
    if (all <= limit) break;
    if (unlinkat(dirfd(folder), file.name.c_str(), 0) == 0) all -= file.bytes;
  }
  closedir(folder);
  return true;
}

}  // namespace tensorscope::dump
