// A program that opens libpython long after its start, ends the interpreter and starts another one.
// usage: embeds_python PROBE_LIBRARY LIBPYTHON
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "embeds_python: %s\n", dlerror());
    exit(2);
  }
  return library;
}

static void require(int condition, const char* what) {
  if (!condition) {
    fprintf(stderr, "embeds_python: %s\n", what);
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* probe = open_library(argv[1]);
  int (*start)(void) = (int (*)(void))dlsym(probe, "probe_start");
  int (*check)(void) = (int (*)(void))dlsym(probe, "probe_check");
  unsigned (*capture)(void) = (unsigned (*)(void))dlsym(probe, "probe_capture");
  const char* (*detail)(void) = (const char* (*)(void))dlsym(probe, "probe_detail");
  require(start() == 0 && capture() == 0 && check() == 0, "Python stacks before there is a Python");

  void* python = open_library(argv[2]);
  void (*initialize)(void) = (void (*)(void))dlsym(python, "Py_Initialize");
  int (*finalize)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
  require(start() == 0, "a Python that is not initialised");
  initialize();
  require(start() == 1, "the interpreter is not found");
  require(capture() == 0, "a stack where no Python runs");
  require(check() == 1 && strstr(detail(), ", checked against") != NULL, detail());
  require(finalize() == 0 && capture() == 0, "a stack after the interpreter's end");
  initialize();
  require(start() == 1 && check() == 1 && capture() == 0, "the second interpreter");
  puts("ok");
  return 0;
}
