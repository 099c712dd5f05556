// SPDX-License-Identifier: Apache-2.0
// Loads one library where another has been.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

// Opens copies of the library at `path` until one lies where `base` says: each fills the highest gap that is large
// enough, and the one at `base` is large enough. Null: it never does. `name`: of a function in it.
static inline void* open_at(const char* path, const char* name, const void* base) {
  void* opened[256];
  void* found = 0;
  int count = 0;
  while (count < 256 && !found) {
    char copy[] = "/tmp/reused_address-XXXXXX";
    struct stat status;
    const int from = open(path, O_RDONLY | O_CLOEXEC), to = mkstemp(copy);
    if (from < 0 || to < 0 || fstat(from, &status) != 0) return 0;
    for (off_t left = status.st_size; left > 0;) {
      const ssize_t sent = sendfile(to, from, 0, (size_t)left);
      if (sent <= 0) return 0;
      left -= sent;
    }
    close(from);
    close(to);
    void* library = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
    unlink(copy);
    if (!library) {
      fprintf(stderr, "%s\n", dlerror());
      return 0;
    }
    Dl_info where;
    if (dladdr(dlsym(library, name), &where) && where.dli_fbase == base) {
      found = library;
    } else {
      opened[count++] = library;
    }
  }
  while (count > 0) dlclose(opened[--count]);
  return found;
}
