// SPDX-License-Identifier: Apache-2.0
#include "support/page_array.h"

#include <errno.h>
#include <sys/mman.h>

#include "support/enough_memory.h"
#include "support/pages.h"

namespace tensorscope {

namespace {

constexpr size_t kMin = size_t{64} << 10;

size_t whole_steps(size_t bytes) { return (bytes + kMin - 1) & ~(kMin - 1); }

}  // namespace

PageBytes::~PageBytes() {
  if (pages_ == nullptr) return;
  if (MemoryLimit* limit = MemoryLimit::current()) limit->add(-int64_t(room_));
  unmap_pages(pages_, room_);
}

bool PageBytes::grow(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return false;
  MemoryLimit* const limit = MemoryLimit::current();
  // Some more than asked for, so that a million values are a few dozen steps, if there is that much.
  for (const size_t wanted : {whole_steps(std::max(bytes, room_ + room_ / 4)), whole_steps(bytes)}) {
    if (limit != nullptr && !limit->has_room(wanted - room_)) continue;
    void* const pages = pages_ == nullptr ? map_pages(wanted) : remap_pages(pages_, room_, wanted);
    if (pages == nullptr) continue;
    if (limit != nullptr) limit->add(int64_t(wanted - room_));
    pages_ = static_cast<char*>(pages);
    room_ = wanted;
    return true;
  }
  return false;
}

void PageBytes::prefer_large_pages() {
  const int error = errno;
  if (pages_ != nullptr) madvise(pages_, room_, MADV_HUGEPAGE);
  errno = error;
}

}  // namespace tensorscope
