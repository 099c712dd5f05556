// SPDX-License-Identifier: Apache-2.0
#include "devices/cupti/cupti_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <iterator>

#include "support/load_library.h"
#include "support/loaded_object.h"
#include "support/log.h"

namespace tensorscope::cupti {

namespace {

constexpr unsigned kNewest = 13, kOldest = 12;

// The folder of a loaded object, without the last slash; "" if it has none.
struct Folder {
  char path[PATH_MAX] = "";
  explicit Folder(const LoadedObject& object) {
    const char* slash = object ? strrchr(object.path, '/') : nullptr;
    if (slash != nullptr) snprintf(path, sizeof path, "%.*s", int(slash - object.path), object.path);
  }
  explicit operator bool() const { return *path != 0; }
};

void* open_in(const Folder& folder, const char* below, unsigned major) {
  if (!folder) return nullptr;
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/%slibcupti.so.%u", folder.path, below, major);
  return load_library(path, RTLD_NOW | RTLD_LOCAL);
}

void* open_by_name(unsigned major, int flags) {
  char name[32];
  snprintf(name, sizeof name, "libcupti.so.%u", major);
  return load_library(name, flags | RTLD_LOCAL);
}

void* open_of_major(unsigned major, const Folder& runtime, const Folder& torch) {
  constexpr const char* kBesideTheRuntime[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/"};
  constexpr const char* kBesideTorch[] = {"../../nvidia/cuda_cupti/lib/", "../../nvidia/cu13/lib/"};
  if (void* library = open_by_name(major, RTLD_NOW | RTLD_NOLOAD)) return library;
  for (const char* below : kBesideTheRuntime) {
    if (void* library = open_in(runtime, below, major)) return library;
  }
  for (const char* below : kBesideTorch) {
    if (void* library = open_in(torch, below, major)) return library;
  }
  return open_by_name(major, RTLD_NOW);
}

// 0: no runtime is loaded as a library of its own.
unsigned runtime_major(const LoadedObject& runtime) {
  unsigned major = 0;
  const char* suffix = runtime ? strstr(runtime.path, "libcudart.so.") : nullptr;
  return suffix != nullptr && sscanf(suffix, "libcudart.so.%u", &major) == 1 ? major : 0;
}

void* open_any() {
  const LoadedObject runtime = find_object("libcudart.so");
  const Folder beside_runtime(runtime), beside_torch(find_object("libc10_cuda.so"));
  if (const unsigned major = runtime_major(runtime)) return open_of_major(major, beside_runtime, beside_torch);
  for (unsigned major = kNewest; major >= kOldest; --major) {
    if (void* library = open_of_major(major, beside_runtime, beside_torch)) return library;
  }
  return nullptr;
}

}  // namespace

Status open_library(Functions& functions) {
  void* const library = open_any();
  if (library == nullptr) return Status::failed("libcupti was not found");
  struct {
    const char* name;
    void** place;
  } const wanted[] = {
#define X(name) {"cupti" #name, reinterpret_cast<void**>(&functions.name)},
      TENSORSCOPE_CUPTI_FUNCTIONS(X)
#undef X
  };
  for (const auto& function : wanted) {
    *function.place = dlsym(library, function.name);
    if (*function.place == nullptr) {
      log(LogLevel::warning, "CUPTI has no {}", function.name);
      return Status::failed("libcupti lacks a required function");
    }
  }
  return Status::done();
}

}  // namespace tensorscope::cupti
