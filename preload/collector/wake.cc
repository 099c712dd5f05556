// SPDX-License-Identifier: Apache-2.0
#include "collector/wake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/call_filter.h"
#include "support/fresh_in_child.h"
#include "support/locks/futex.h"
#include "support/private_descriptor_table.h"
#include "support/small_file.h"
#include "tensorscope/rules/own_handler.h"

namespace tensorscope::collector {

namespace {

// A process of another version that has another layout has another name.
constexpr char kPageName[] = "tensorscope-wake-1";
constexpr size_t kPageBytes = 4096;

struct alignas(kPageBytes) WakePage {
  std::atomic<uint32_t> wake{0};
  std::atomic<uint32_t> asked{0};
  std::atomic<uint32_t> pid{0}, number{0}, all{0};  // of who asked last
  std::atomic<uint64_t> run_id[4] = {};
  char rest[kPageBytes - 56] = {};  // the page is nobody else's
};
static_assert(sizeof(WakePage) == kPageBytes);
constinit WakePage g_page;

// A forked child has the parent's page until it has put another in its place. Where it cannot, an event of the one
// wakes the other, too, which finds nothing to do.
FreshInChild g_fresh_page{[] {
  const void* const own =
      mmap(&g_page, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  static_cast<void>(own);
}};

void write_request(WakePage& page, const DumpOfAncestor& dump) {
  uint64_t words[4];
  memcpy(words, dump.run_id, sizeof words);
  for (size_t i = 0; i < 4; ++i) page.run_id[i].store(words[i], std::memory_order_relaxed);
  page.pid.store(dump.pid, std::memory_order_relaxed);
  page.number.store(dump.number, std::memory_order_relaxed);
  page.all.store(dump.all, std::memory_order_relaxed);
  page.asked.fetch_add(1, std::memory_order_release);
  futex_change_and_wake_shared(page.wake);
}

int new_page_file() {
  constexpr unsigned kNotExecutable = 8;  // MFD_NOEXEC_SEAL, Linux 6.3
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int file = memfd_create(kPageName, kFlags | kNotExecutable);
  return file >= 0 ? file : memfd_create(kPageName, kFlags);
}

// Nobody can make the file shorter, so that reading its page never faults.
bool is_sealed(int file) {
  const int seals = fcntl(file, F_GET_SEALS);
  struct stat facts = {};
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(file, &facts) == 0 && facts.st_size == kPageBytes;
}

// Calls `each` with the path of each entry of a folder until it returns true, and says whether it did.
template <typename Each>
bool any_entry(const char* path, Each each) {
  DIR* const folder = opendir(path);
  if (folder == nullptr) return false;
  bool found = false;
  char entry_path[PATH_MAX];
  while (const dirent* const entry = found ? nullptr : readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    snprintf(entry_path, sizeof entry_path, "%s/%.32s", path, entry->d_name);
    found = each(entry_path);
  }
  closedir(folder);
  return found;
}

bool is_collector(const char* thread) {
  char path[128], name[32];
  snprintf(path, sizeof path, "%.100s/comm", thread);
  if (read_small_file(path, name, sizeof name) == 0) return false;
  name[strcspn(name, "\n")] = 0;
  return strcmp(name, rules::kCollectorName) == 0 || strcmp(name, rules::kCollectorNameOwnHandler) == 0;
}

bool is_page(const char* descriptor) {
  char target[64] = "", wanted[64];
  if (readlink(descriptor, target, sizeof target - 1) < 0) return false;
  snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", kPageName);
  return strcmp(target, wanted) == 0;
}

bool ask_through(const char* descriptor, const DumpOfAncestor& dump) {
  if (!is_page(descriptor)) return false;
  const int file = open(descriptor, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return false;
  void* const page =
      is_sealed(file) ? mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  if (page == MAP_FAILED) return false;
  write_request(*static_cast<WakePage*>(page), dump);
  munmap(page, kPageBytes);
  return true;
}

}  // namespace

uint32_t wake_count() { return g_page.wake.load(std::memory_order_acquire); }

void wake_collector() { futex_change_and_wake_shared(g_page.wake); }

void sleep_until_woken(uint32_t seen, const timespec* at_most) { futex_wait_shared(g_page.wake, seen, at_most); }

// The file has its page before anybody uses it: one that the system could not give later would end the process. No
// ancestor can have asked yet. Who counts meanwhile has noted before what it asks for, and the collector looks at that
// after this.
bool share_wake_page() {
  if (!has_private_descriptors() || calls_are_filtered() || sysconf(_SC_PAGESIZE) != kPageBytes) return false;
  const int file = new_page_file();
  if (file < 0) return false;
  WakePage first;
  first.wake = wake_count();
  const bool shared = write(file, &first, kPageBytes) == ssize_t(kPageBytes) &&
                      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
                      mmap(&g_page, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  if (!shared) close(file);
  return shared;
}

uint32_t ancestors_requests(DumpOfAncestor& last) {
  const uint32_t asked = g_page.asked.load(std::memory_order_acquire);
  uint64_t words[4];
  for (size_t i = 0; i < 4; ++i) words[i] = g_page.run_id[i].load(std::memory_order_relaxed);
  memcpy(last.run_id, words, sizeof words);
  last.run_id[sizeof words] = 0;
  last.pid = g_page.pid.load(std::memory_order_relaxed);
  last.number = g_page.number.load(std::memory_order_relaxed);
  last.all = g_page.all.load(std::memory_order_relaxed) != 0;
  return asked;
}

bool ask_descendant(pid_t pid, const DumpOfAncestor& dump) {
  char threads[64];
  snprintf(threads, sizeof threads, "/proc/%d/task", int(pid));
  return any_entry(threads, [&](const char* thread) {
    if (!is_collector(thread)) return false;
    char descriptors[128];
    snprintf(descriptors, sizeof descriptors, "%.100s/fd", thread);
    return any_entry(descriptors, [&](const char* descriptor) { return ask_through(descriptor, dump); });
  });
}

}  // namespace tensorscope::collector
