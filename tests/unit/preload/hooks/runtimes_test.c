// SPDX-License-Identifier: Apache-2.0
// Run with libtensorscope.so preloaded: a program without C++ that opens two libraries, each with a C++ runtime that
// the other does not see. An exception goes to the runtime that its thrower would have been bound to without the
// preload.
//
// Covers: preload/hooks/torch/throw_function.cc
#include <dlfcn.h>
#include <stdio.h>

static int check(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  int (*throw_and_catch)(void) = library ? (int (*)(void))dlsym(library, "throw_and_catch") : 0;
  if (!throw_and_catch) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const int uncaught = throw_and_catch();
  printf("%s: %d exceptions are unaccounted for\n", path, uncaught);
  return uncaught != 0;
}

int main(int argc, char** argv) {
  if (dlsym(RTLD_DEFAULT, "__cxa_begin_catch")) return 2;  // not the case that is to be tested
  int failures = 0;
  for (int i = 1; i < argc; ++i) failures += check(argv[i]);
  return failures;
}
