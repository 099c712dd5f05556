// SPDX-License-Identifier: Apache-2.0
#include "support/pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace tensorscope {

namespace {

constinit std::atomic<uint64_t> g_mapped{0};

size_t whole_pages(size_t bytes) {
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) & ~(page - 1);
}

void* map(size_t bytes, int extra_flags) {
  const int saved_errno = errno;
  const size_t size = whole_pages(bytes);
  void* pages = size < bytes
                    ? MAP_FAILED
                    : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | extra_flags, -1, 0);
  errno = saved_errno;
  if (pages == MAP_FAILED) return nullptr;
  g_mapped.fetch_add(size, std::memory_order_relaxed);
  return pages;
}

}  // namespace

void* map_pages(size_t bytes) { return map(bytes, 0); }
void* map_pages_now(size_t bytes) { return map(bytes, MAP_POPULATE); }

void* remap_pages(void* pages, size_t bytes, size_t more_bytes) {
  const int saved_errno = errno;
  const size_t size = whole_pages(bytes), more = whole_pages(more_bytes);
  void* moved = more < more_bytes ? MAP_FAILED : mremap(pages, size, more, MREMAP_MAYMOVE);
  errno = saved_errno;
  if (moved == MAP_FAILED) return nullptr;
  g_mapped.fetch_add(more - size, std::memory_order_relaxed);
  return moved;
}

void unmap_pages(void* pages, size_t bytes) {
  if (pages == nullptr) return;
  const int saved_errno = errno;
  const size_t size = whole_pages(bytes);
  if (munmap(pages, size) == 0) g_mapped.fetch_sub(size, std::memory_order_relaxed);
  errno = saved_errno;
}

uint64_t mapped_bytes() { return g_mapped.load(std::memory_order_relaxed); }

}  // namespace tensorscope
