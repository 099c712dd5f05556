// SPDX-License-Identifier: Apache-2.0
#include "oom/reserve.h"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "support/fresh_in_child.h"
#include "support/locks/spin_lock.h"
#include "support/system_limits.h"

namespace tensorscope::oom {

namespace {

// Phase 1 at 100,000 live tensors and as many allocations, or the names of a program that has done little more than
// import torch: 170,000 Python objects, 12 MiB.
constexpr size_t kBytes = size_t{64} << 20;

// malloc maps so much at once for a new thread's arena (HEAP_MAX_SIZE of glibc's malloc/arena.c). A thread that helps
// with the dump would take nearly all of the reserve for one, and the arena stays when the thread has ended. Where the
// system has less than this left, the reserve is given back only as far as there is still less than this then.
constexpr uint64_t kArena = uint64_t{64} << 20, kLessThanArena = uint64_t{1} << 20;

constinit SpinLock g_lock;
constinit std::atomic<char*> g_pages{nullptr};
constinit std::atomic<size_t> g_bytes{0};            // at g_pages
constinit bool g_wanted GUARDED_BY(g_lock) = false;  // hold_reserve() found room for it
struct Users {
  uint32_t count = 0;
};
constinit Users g_users GUARDED_BY(g_lock);
FreshInChild g_fresh_users{g_users};

// A fork may copy this at any moment: what moves is forgotten while it does.
void take() REQUIRES(g_lock) {
  const size_t held = g_bytes.load();
  if (held == kBytes) return;
  g_bytes.store(0);
  void* const pages = held == 0 ? mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                : mremap(g_pages.load(), held, kBytes, MREMAP_MAYMOVE);
  if (pages != MAP_FAILED) g_pages.store(static_cast<char*>(pages));
  g_bytes.store(pages != MAP_FAILED ? kBytes : held);
}

// g_lock is held. What is unmapped is forgotten before it is somebody else's.
void give_back() {
  const size_t bytes = g_bytes.load(), kept = bytes - reserve_to_give_back(bytes, address_space_left());
  g_bytes.store(kept);
  if (bytes != kept) munmap(g_pages.load() + kept, bytes - kept);
}

}  // namespace

size_t reserve_to_give_back(size_t bytes, uint64_t left) {
  if (left >= kArena) return bytes;
  constexpr uint64_t kMax = kArena - kLessThanArena;
  const uint64_t wanted = (kMax - std::min(left, kMax)) & ~uint64_t{0xffff};
  return std::min<uint64_t>(bytes, wanted);
}

void hold_reserve() {
  const int saved_errno = errno;
  if (SpinGuard guard(g_lock); guard && g_users.count == 0 && !address_space_is_tight()) {
    g_wanted = true;
    take();
  }
  errno = saved_errno;
}

ReserveInUse::ReserveInUse() {
  const int saved_errno = errno;
  if (SpinGuard guard(g_lock); guard && g_users.count++ == 0) give_back();
  errno = saved_errno;
}

ReserveInUse::~ReserveInUse() {
  const int saved_errno = errno;
  if (SpinGuard guard(g_lock); guard && --g_users.count == 0 && g_wanted) take();
  errno = saved_errno;
}

}  // namespace tensorscope::oom
