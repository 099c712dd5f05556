// SPDX-License-Identifier: Apache-2.0
// Counts how often libtensorscope.so asks for memory: preloaded before it by tests/bench/cuda_speed.py. A call is the
// library's where it returns into the library's code.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);

static atomic_ulong counted;
static char *begin, *end;

static int find(struct dl_phdr_info* info, size_t size, void* unused) {
  if (strstr(info->dlpi_name, "libtensorscope.so") == NULL) return 0;
  begin = end = (char*)info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    char* last = (char*)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && last > end) end = last;
  }
  return 1;
}

static void count(void* caller) {
  if ((char*)caller >= begin && (char*)caller < end) atomic_fetch_add(&counted, 1);
}

// From now on. Returns whether the library is there.
int malloc_counter_start(void) {
  dl_iterate_phdr(find, NULL);
  atomic_store(&counted, 0);
  return begin != NULL;
}
unsigned long malloc_counter_calls(void) { return atomic_load(&counted); }

void* malloc(size_t size) {
  count(__builtin_return_address(0));
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) {
  count(__builtin_return_address(0));
  return __libc_calloc(n, size);
}
void* realloc(void* p, size_t size) {
  count(__builtin_return_address(0));
  return __libc_realloc(p, size);
}
void* mmap(void* address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  count(__builtin_return_address(0));
  return (void*)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
}
