// What libtensorscope.so itself holds: preloaded after it. Memory is the library's where the call that asked for it
// returns into its code, or into that of the unwinder that it loads. Pages are counted where they are resident,
// malloc's blocks with their whole size. Not counted: what malloc keeps after a free, and Python objects.
#define _GNU_SOURCE
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void __libc_free(void*);

struct code {
  atomic_uintptr_t begin, end;
};
struct range {
  char* begin;
  size_t size;
};

enum { kLibraries = 2, kMostRanges = 1 << 14, kBlockSlots = 1 << 20 };
static const char* const names[kLibraries] = {"libtensorscope.so", "libunwind-x86_64.so"};
static struct code libraries[kLibraries];
static struct range ranges[kMostRanges];
static size_t range_count;
static unsigned long lost_ranges;
// Addresses of malloc's blocks: open addressing, changed with the lock held. A search ends at an empty slot.
static atomic_uintptr_t blocks[kBlockSlots];
static const uintptr_t kGone = 1;
static atomic_long heap_bytes;
// Recursive: what prepares a fork may ask for memory.
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static int find(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  for (int n = 0; n < kLibraries; ++n) {
    if (strstr(info->dlpi_name, names[n]) == NULL || libraries[n].begin != 0) continue;
    uintptr_t end = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const uintptr_t last = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
      if (info->dlpi_phdr[i].p_type == PT_LOAD && last > end) end = last;
    }
    libraries[n].end = end;
    libraries[n].begin = info->dlpi_addr;
  }
  return 0;
}

static int is_own(void* caller) {
  for (int n = 0; n < kLibraries; ++n) {
    const uintptr_t begin = libraries[n].begin;
    if (begin != 0 && (uintptr_t)caller >= begin && (uintptr_t)caller < libraries[n].end) return 1;
  }
  return 0;
}

static void take_lock(void) { pthread_mutex_lock(&lock); }
static void return_lock(void) { pthread_mutex_unlock(&lock); }
static void new_lock(void) { lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; }

__attribute__((constructor)) static void start(void) {
  dl_iterate_phdr(find, NULL);
  pthread_atfork(take_lock, return_lock, new_lock);
}

// With the lock held.
static void add(void* pages, size_t size) {
  if (range_count == kMostRanges) {
    ++lost_ranges;
    return;
  }
  ranges[range_count++] = (struct range){pages, size};
}

// What is unmapped may be a part of what was mapped.
static void take_away(char* begin, size_t size) {
  char* const end = begin + size;
  for (size_t i = 0; i < range_count; ++i) {
    struct range* r = &ranges[i];
    char* const last = r->begin + r->size;
    if (r->begin >= end || last <= begin) continue;
    if (r->begin < begin && last > end) {
      r->size = (size_t)(begin - r->begin);
      add(end, (size_t)(last - end));
    } else if (r->begin < begin) {
      r->size = (size_t)(begin - r->begin);
    } else if (last > end) {
      r->begin = end;
      r->size = (size_t)(last - end);
    } else {
      ranges[i--] = ranges[--range_count];
    }
  }
}

static size_t whole(size_t size) { return (size + 4095) & ~(size_t)4095; }

static void* map(void* caller, void* address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  void* const pages = (void*)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
  if (pages != MAP_FAILED && is_own(caller)) {
    take_lock();
    add(pages, whole(length));
    return_lock();
  }
  return pages;
}

void* mmap(void* address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  return map(__builtin_return_address(0), address, length, protection, flags, descriptor, offset);
}
void* mmap64(void* address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  return map(__builtin_return_address(0), address, length, protection, flags, descriptor, offset);
}

int munmap(void* pages, size_t length) {
  const int own = is_own(__builtin_return_address(0));
  if (own) {
    take_lock();
    take_away(pages, whole(length));
    return_lock();
  }
  return (int)syscall(SYS_munmap, pages, length);
}

void* mremap(void* pages, size_t size, size_t more, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  void* const wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : NULL;
  va_end(rest);
  const int own = is_own(__builtin_return_address(0));
  if (own) take_lock();
  void* const moved = (void*)syscall(SYS_mremap, pages, size, more, flags, wanted);
  if (own) {
    if (moved != MAP_FAILED) {
      take_away(pages, whole(size));
      add(moved, whole(more));
    }
    return_lock();
  }
  return moved;
}

static size_t slot_of(void* block) { return (size_t)(((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 44); }

static void* counted(void* caller, void* block) {
  if (block == NULL || !is_own(caller)) return block;
  take_lock();
  size_t at = slot_of(block);
  while (blocks[at] > kGone) at = (at + 1) % kBlockSlots;
  blocks[at] = (uintptr_t)block;
  heap_bytes += (long)malloc_usable_size(block);
  return_lock();
  return block;
}

// Whoever frees it: a function of another library that ends in a jump to free() looks like the library's own call.
static int forget(void* block) {
  size_t at = slot_of(block);
  while (blocks[at] != (uintptr_t)block) {
    if (blocks[at] == 0) return 0;
    at = (at + 1) % kBlockSlots;
  }
  take_lock();
  heap_bytes -= (long)malloc_usable_size(block);
  blocks[at] = kGone;
  if (blocks[(at + 1) % kBlockSlots] == 0) {
    for (; blocks[at] == kGone; at = (at + kBlockSlots - 1) % kBlockSlots) blocks[at] = 0;
  }
  return_lock();
  return 1;
}

void* malloc(size_t size) { return counted(__builtin_return_address(0), __libc_malloc(size)); }
void* calloc(size_t n, size_t size) { return counted(__builtin_return_address(0), __libc_calloc(n, size)); }
void* realloc(void* p, size_t size) {
  const int own = p != NULL && forget(p);
  void* const block = __libc_realloc(p, size);
  return own || p == NULL ? counted(own ? (void*)libraries[0].begin : __builtin_return_address(0), block) : block;
}
void free(void* p) {
  if (p != NULL) forget(p);
  __libc_free(p);
}

struct own_memory {
  uint64_t mapped, resident, ranges, lost_ranges;
  int64_t heap;
};

void own_memory(struct own_memory* out) {
  unsigned char present[4096];
  memset(out, 0, sizeof *out);
  dl_iterate_phdr(find, NULL);
  out->heap = atomic_load(&heap_bytes);
  take_lock();
  for (size_t i = 0; i < range_count; ++i) {
    out->mapped += ranges[i].size;
    for (size_t at = 0; at < ranges[i].size; at += 4096 * sizeof present) {
      const size_t left = ranges[i].size - at;
      const size_t size = left < 4096 * sizeof present ? left : 4096 * sizeof present;
      if (mincore(ranges[i].begin + at, size, present) != 0) continue;
      for (size_t page = 0; page < size / 4096; ++page) out->resident += (present[page] & 1) * (uint64_t)4096;
    }
  }
  out->ranges = range_count;
  out->lost_ranges = lost_ranges;
  return_lock();
}
