// SPDX-License-Identifier: Apache-2.0
#include "dump/shared_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "support/clock.h"
#include "support/copy_text.h"
#include "support/small_file.h"
#include "support/status.h"
#include "support/timed_thread.h"

namespace tensorscope::dump {

namespace {

constexpr uint64_t kPatienceNs = 1'000'000'000;
constexpr uint64_t kMaxLookNs = 200'000'000;

constinit SpinLock g_looking;  // only ever tried

struct Look : TimedThread::Shared {
  bool others;
  uint64_t processor_until_ns;
  bool ended_early;
  bool unreadable;  // some process of somebody else
  size_t count;
  SharedHolder holders[SharedFiles::kMaxHolders];
  FileHolders files;
  char text[16384];     // of /proc/PID/maps: a line has a path of 4 KiB at most
  char entries[16384];  // of a folder

  bool time_is_left() const { return !given_up() && read_clock_ns(CLOCK_THREAD_CPUTIME_ID) < processor_until_ns; }
};

int open_here(const char* path, int flags) {
  return int(syscall(SYS_openat, AT_FDCWD, path, flags | O_RDONLY | O_CLOEXEC));
}
void close_here(int fd) { syscall(SYS_close, fd); }

// Calls `each` with the name of each entry, until it returns false. No malloc, unlike readdir(). False: the folder
// cannot be read.
template <size_t size, typename Each>
bool for_each_entry(const char* folder, char (&entries)[size], Each each) {
  const int fd = open_here(folder, O_DIRECTORY);
  if (fd < 0) return false;
  bool go_on = true;
  for (long got; go_on && (got = syscall(SYS_getdents64, fd, entries, size)) > 0;) {
    for (long at = 0; go_on && at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      if (entry->d_name[0] != '.') go_on = each(entry->d_name);
      at += entry->d_reclen;
    }
  }
  close_here(fd);
  return true;
}

uint64_t bytes_of(const struct stat& file) { return uint64_t(file.st_blocks) * 512; }

void look_at_names(Look& look) {
  for_each_entry(kSharedMemoryFolder, look.entries, [&](const char* name) {
    char path[300];
    struct stat file;
    snprintf(path, sizeof(path), "%s/%s", kSharedMemoryFolder, name);
    if (lstat(path, &file) == 0 && S_ISREG(file.st_mode)) look.files.add_file(file.st_ino, bytes_of(file), name);
    return look.time_is_left();
  });
}

// False: it cannot be read.
bool look_at_mappings(Look& look, const char* process) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%.16s/maps", process);
  const int fd = open_here(path, 0);
  if (fd < 0) return false;
  size_t kept = 0;
  for (long got; (got = syscall(SYS_read, fd, look.text + kept, sizeof(look.text) - kept)) > 0;) {
    const std::string_view text(look.text, kept + size_t(got));
    size_t taken = 0;
    for (size_t end; (end = text.find('\n', taken)) != text.npos; taken = end + 1) {
      look.files.add_mapping(text.substr(taken, end - taken));
    }
    kept = text.size() - taken;
    memmove(look.text, look.text + taken, kept);
    if (kept == sizeof(look.text) || !look.time_is_left()) break;
  }
  close_here(fd);
  return true;
}

// A descriptor's link names its file: a stat() of a file elsewhere could hang.
void look_at_descriptors(Look& look, const char* process) {
  char folder[64];
  snprintf(folder, sizeof(folder), "/proc/%.16s/fd", process);
  for_each_entry(folder, look.entries, [&](const char* number) {
    char path[96], target[64];
    snprintf(path, sizeof(path), "%s/%.16s", folder, number);
    const ssize_t length = readlink(path, target, sizeof(target));
    const std::string_view link(target, length > 0 ? size_t(length) : 0);
    struct stat file;
    if (link.starts_with(kSharedMemoryFolder) && stat(path, &file) == 0 && S_ISREG(file.st_mode)) {
      look.files.add_open(file.st_ino, bytes_of(file), file.st_nlink == 0);
    }
    return look.time_is_left();
  });
}

// `process`: its number, or "self".
bool look_at_process(Look& look, const char* process, uint32_t pid) {
  look.files.begin_process(pid);
  if (!look_at_mappings(look, process)) return false;
  look_at_descriptors(look, process);
  SharedHolder holder = look.files.process();
  if (holder.files == 0) return true;
  char path[64], name[sizeof(holder.name)];
  snprintf(path, sizeof(path), "/proc/%.16s/comm", process);
  if (read_small_file(path, name, sizeof(name)) != 0) {
    name[strcspn(name, "\n")] = 0;
    copy_text(name, holder.name);
  }
  if (look.count == SharedFiles::kMaxHolders) {  // takes the place of who holds the least
    SharedHolder* const least =
        std::min_element(look.holders + 1, look.holders + look.count,
                         [](const SharedHolder& a, const SharedHolder& b) { return a.bytes < b.bytes; });
    if (least->bytes < holder.bytes) *least = holder;
    return true;
  }
  look.holders[look.count++] = holder;
  return true;
}

void look_at_others(Look& look) {
  const uint32_t own = uint32_t(getpid());
  char processes[16384];
  for_each_entry("/proc", processes, [&](const char* name) {
    const uint32_t pid = uint32_t(strtoul(name, nullptr, 10));
    if (pid != 0 && pid != own && !look_at_process(look, name, pid)) look.unreadable |= errno == EACCES;
    return look.time_is_left();
  });
  const auto first = look.holders + std::min<size_t>(look.count, look.holders[0].pid == own ? 1 : 0);
  std::sort(first, look.holders + look.count,
            [](const SharedHolder& a, const SharedHolder& b) { return a.bytes > b.bytes; });
  const SharedHolder unheld = look.files.unheld();
  if (unheld.files == 0) return;
  if (look.count == SharedFiles::kMaxHolders) --look.count;
  look.holders[look.count++] = unheld;
}

void look_on_this_thread(TimedThread::Shared& shared) {
  auto& look = static_cast<Look&>(shared);
  struct stat folder;
  if (stat(kSharedMemoryFolder, &folder) != 0) return;
  look.processor_until_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + kMaxLookNs;
  look.files.begin(folder.st_dev);
  if (look.others) look_at_names(look);
  look_at_process(look, "self", uint32_t(getpid()));
  if (look.others) look_at_others(look);
  look.ended_early = !look.time_is_left() || look.files.is_full();
}

constinit const TimedThread::Kind kKind = {"tensorscope-shm", look_on_this_thread, &g_looking};

// Done: all of them were looked at. `found.looked`: some were.
Status look_on_a_thread(SharedFiles& found, bool others) {
  TimedThread thread;
  if (thread.prepare(kKind, sizeof(Look)) != TimedThread::Prepared::yes)
    return Status::failed("no thread can look at them");
  Look& look = *thread.shared<Look>();
  look.others = others;
  if (!thread.start(kPatienceNs)) return Status::failed("no thread can look at them");
  if (!thread.wait()) return Status::failed("it took too long");
  found.looked = true;
  found.count = look.count;
  std::copy(look.holders, look.holders + look.count, found.holders);
  if (look.ended_early) return Status::failed("not all of them: it took too long");
  if (look.unreadable) return Status::failed("not those of processes that this user may not look at");
  return Status::done();
}

}  // namespace

void look_at_shared_files(const Failure* failure, SharedFiles& found) {
  found.space = shared_memory();
  const bool failed = failure != nullptr && failure->limit == SystemLimit::shared_memory;
  const bool few_left = found.space.left < found.space.limit / 4;
  if (found.space.is_set() && (failed || few_left)) found.detail = look_on_a_thread(found, true).why();
}

uint64_t shared_bytes_of_this_process() {
  SharedFiles found;
  static_cast<void>(look_on_a_thread(found, false));  // found.count says whether its own were
  return found.count > 0 ? found.holders[0].bytes : 0;
}

FileHolders::File* FileHolders::find(uint64_t inode) {
  for (size_t i = count_; i-- > 0;) {
    if (files_[i].inode == inode) return &files_[i];
  }
  if (count_ == kMaxFiles) {
    full_ = true;
    return nullptr;
  }
  files_[count_].inode = inode;
  return &files_[count_++];
}

void FileHolders::hold(File& file) {
  file.last_pid = pid_;
  file.held = true;
}

void FileHolders::add_file(uint64_t inode, uint64_t bytes, std::string_view name) {
  File* const file = find(inode);
  if (file == nullptr) return;
  file->bytes = bytes;
  copy_text(name, file->name);
}

// "7f00-7f10 rw-s 00001000 00:19 1234    /dev/shm/torch_12_34_0 (deleted)": a file without a name is as large as what
// is mapped of it.
void FileHolders::add_mapping(std::string_view line) {
  char text[96];
  copy_text(line.substr(0, sizeof(text) - 1), text);
  unsigned long long begin = 0, end = 0, offset = 0, inode = 0;
  unsigned major = 0, minor = 0;
  if (sscanf(text, "%llx-%llx %*4s %llx %x:%x %llu", &begin, &end, &offset, &major, &minor, &inode) != 6) return;
  if (inode == 0 || makedev(major, minor) != device_ || end <= begin) return;
  File* const file = find(inode);
  if (file == nullptr) return;
  hold(*file);
  if (!line.ends_with(" (deleted)") && file->name[0] != 0) return;
  file->deleted = line.ends_with(" (deleted)");
  file->bytes = std::max<uint64_t>(file->bytes, offset + (end - begin));
}

void FileHolders::add_open(uint64_t inode, uint64_t bytes, bool deleted) {
  File* const file = find(inode);
  if (file == nullptr) return;
  hold(*file);
  file->bytes = bytes;
  file->deleted = deleted;
}

SharedHolder FileHolders::process() const {
  SharedHolder sum;
  sum.pid = pid_;
  for (size_t i = 0; i < count_; ++i) {
    const File& file = files_[i];
    if (file.last_pid != pid_) continue;
    ++sum.files;
    sum.bytes += file.bytes;
    if (file.deleted) sum.deleted += file.bytes;
  }
  return sum;
}

SharedHolder FileHolders::unheld() const {
  SharedHolder sum;
  uint64_t largest = 0;
  for (size_t i = 0; i < count_; ++i) {
    const File& file = files_[i];
    if (file.held || file.bytes == 0) continue;
    ++sum.files;
    sum.bytes += file.bytes;
    if (file.bytes > largest) {
      largest = file.bytes;
      memcpy(sum.name, file.name, sizeof(sum.name));
    }
  }
  return sum;
}

}  // namespace tensorscope::dump
