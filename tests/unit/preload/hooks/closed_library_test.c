// SPDX-License-Identifier: Apache-2.0
// Covers: preload/support/unload_epoch_cache.cc
#define _GNU_SOURCE
// Run with libtensorscope.so preloaded: a library that has thrown and allocated is closed, and another comes to its
// addresses. Each must reach its own functions.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "reused_address.h"

static int call(void* library, const char* name) { return ((int (*)(void))dlsym(library, name))(); }

static int check(void* library, int number) {
  const int thrown = call(library, "throw_and_catch"), allocated = call(library, "allocate");
  if (thrown == number && allocated == 100 + number) return 0;
  fprintf(stderr, "library %d reached __cxa_throw of %d and cudaMalloc of %d\n", number, thrown, allocated - 100);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int failures = 0;
  void* first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  Dl_info where;
  if (!first || !dladdr(dlsym(first, "allocate"), &where)) return 3;
  for (int i = 0; i < 2; ++i) failures += check(first, 1);
  dlclose(first);
  if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) return 4;
  void* second = open_at(argv[2], "allocate", where.dli_fbase);
  if (!second && getenv("UNDER_QEMU")) {
    fprintf(stderr, "skipped: qemu gives no library the address of a closed one\n");
    return 77;
  }
  if (!second) return 5;
  for (int i = 0; i < 2; ++i) failures += check(second, 2);
  return failures;
}
