// SPDX-License-Identifier: Apache-2.0
#include "collector/growth_watch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace tensorscope::collector {

uint64_t GrowthWatch::next(const ShareOrSize& growth) const {
  return dumped_ + (growth.hundredths != 0 ? std::max(growth.of(dumped_), kMinShare) : growth.bytes);
}

bool GrowthWatch::look(uint64_t live, const ShareOrSize& growth) {
  if (live < next(growth)) return false;
  dumped_ = live;
  return true;
}

uint64_t GrowthWatch::step(uint64_t live, size_t devices, const ShareOrSize& growth) const {
  const uint64_t until = next(growth);
  const uint64_t room = until > live ? until - live : 0;
  // One device alone grows to the mark; several may each take their part, and share out anew what is left.
  return devices <= 1 ? std::max<uint64_t>(room, 1) : std::max(room / devices, kMinStep);
}

struct KeptFiles::File {
  // What tells a file that nobody has changed or replaced since it was written.
  struct Identity {
    dev_t device;
    ino_t inode;
    off_t size;
    timespec changed;

    static bool of(const char* path, Identity& out) {
      struct stat status;
      if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
      out = {status.st_dev, status.st_ino, status.st_size, status.st_mtim};
      return true;
    }
    bool operator==(const Identity& other) const {
      return device == other.device && inode == other.inode && size == other.size &&
             changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
    }
  };

  Identity identity;
  File* newer;
  char path[];
};

void KeptFiles::drop_oldest() {
  File* const file = oldest_;
  oldest_ = file->newer;
  --count_;
  File::Identity now;
  if (File::Identity::of(file->path, now) && now == file->identity) unlink(file->path);
  free(file);
}

void KeptFiles::add(const char* path, size_t keep) {
  File::Identity identity;
  if (keep == 0 || !File::Identity::of(path, identity)) return;
  const size_t length = strlen(path) + 1;
  File* const file = static_cast<File*>(malloc(sizeof(File) + length));
  if (file == nullptr) return;  // one dump too many is kept
  *file = {identity, nullptr};
  memcpy(file->path, path, length);
  File** end = &oldest_;
  while (*end != nullptr) end = &(*end)->newer;
  *end = file;
  ++count_;
  while (count_ > keep) drop_oldest();
}

}  // namespace tensorscope::collector
