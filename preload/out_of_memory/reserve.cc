#include "out_of_memory/reserve.h"

#include <errno.h>
#include <sys/mman.h>

#include <cstdint>

#include "support/spin_lock.h"

namespace tensorscope::out_of_memory {

namespace {

// Phase 1 at 100,000 live tensors and as many allocations, or the names of a program that has done little more than
// import torch: 170,000 Python objects, 48 MiB.
constexpr size_t kBytes = size_t{64} << 20;

constinit SpinLock g_lock;
constinit void* g_pages = nullptr;
constinit uint32_t g_users = 0;

// g_lock is held.
void take() {
  if (g_pages != nullptr) return;
  void* pages = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages != MAP_FAILED) g_pages = pages;
}

}  // namespace

void hold_reserve() {
  const int saved_errno = errno;
  if (SpinGuard guard(g_lock); guard && g_users == 0) take();
  errno = saved_errno;
}

ReserveInUse::ReserveInUse() {
  const int saved_errno = errno;
  if (SpinGuard guard(g_lock); guard && g_users++ == 0 && g_pages != nullptr) {
    munmap(g_pages, kBytes);
    g_pages = nullptr;
  }
  errno = saved_errno;
}

ReserveInUse::~ReserveInUse() {
  const int saved_errno = errno;
  if (SpinGuard guard(g_lock); guard && --g_users == 0) take();
  errno = saved_errno;
}

void reset_reserve_in_child() {
  g_lock.unlock();  // whoever held it is not in this process
  g_users = 0;
  hold_reserve();
}

}  // namespace tensorscope::out_of_memory
