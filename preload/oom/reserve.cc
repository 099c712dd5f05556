#include "oom/reserve.h"

#include <errno.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "support/spin_lock.h"

namespace tensorscope::oom {

namespace {

// Phase 1 at 100,000 live tensors and as many allocations, or the names of a program that has done little more than
// import torch: 170,000 Python objects, 12 MiB.
constexpr size_t kBytes = size_t{64} << 20;

constinit SpinLock g_lock;
constinit std::atomic<void*> g_pages{nullptr};
constinit uint32_t g_users = 0;

// g_lock is held.
void take() {
  if (g_pages.load() != nullptr) return;
  void* pages = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages != MAP_FAILED) g_pages.store(pages);
}

}  // namespace

void hold_reserve() {
  const int saved_errno = errno;
  if (SpinGuard guard(g_lock); guard && g_users == 0) take();
  errno = saved_errno;
}

ReserveInUse::ReserveInUse() {
  const int saved_errno = errno;
  // A fork may copy this at any moment: the address is forgotten before it is somebody else's.
  if (SpinGuard guard(g_lock); guard && g_users++ == 0) {
    if (void* pages = g_pages.exchange(nullptr)) munmap(pages, kBytes);
  }
  errno = saved_errno;
}

ReserveInUse::~ReserveInUse() {
  const int saved_errno = errno;
  if (SpinGuard guard(g_lock); guard && --g_users == 0) take();
  errno = saved_errno;
}

void reset_reserve_in_child() {
  g_users = 0;
  hold_reserve();
}

}  // namespace tensorscope::oom
