// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/libunwind_loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "stacks/native/libunwind_accessors.h"
#include "support/load_library.h"
#include "support/loaded_object.h"
#include "support/locks/loader_walk.h"
#include "support/private_descriptor_table.h"

namespace tensorscope::stacks {

namespace {

constexpr char kLibunwind[] = "libunwind-x86_64.so.8";
constexpr uintptr_t kCachedFrames = 1024;

constexpr char kNotFound[] = "libunwind-x86_64.so.8 was not found (Debian: apt install libunwind8)";
constinit char g_not_loaded[256] = "";  // permanently: the coverage record refers to it

// After a dlopen() that failed. The loader's words begin with the object that it did not find, which may be one that
// the library needs.
const char* why_not_loaded() {
  const char* const said = dlerror();
  constexpr size_t kName = sizeof kLibunwind - 1;
  if (said == nullptr || (strncmp(said, kLibunwind, kName) == 0 && said[kName] == ':')) return kNotFound;
  snprintf(g_not_loaded, sizeof g_not_loaded, "libunwind-x86_64.so.8 is there, but cannot be loaded: %s", said);
  return g_not_loaded;
}

void* open_beside_this_library(const char** why) {
  Dl_info self;
  if (dladdr(&kLibunwind, &self) == 0 || self.dli_fname == nullptr) return nullptr;
  const char* slash = strrchr(self.dli_fname, '/');
  if (slash == nullptr) return nullptr;
  char path[4096];
  const size_t folder = size_t(slash - self.dli_fname) + 1;
  if (folder + sizeof kLibunwind > sizeof path) return nullptr;
  memcpy(path, self.dli_fname, folder);
  memcpy(path + folder, kLibunwind, sizeof kLibunwind);
  if (access(path, F_OK) != 0) return nullptr;
  void* const library = load_library(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) *why = why_not_loaded();
  return library;
}

bool malloc_is_of_libc() {
  bool is = false;
  visit_objects([&](const LoadedObject& object) {
    if (object.find("malloc") == nullptr) return true;
    is = object.find("gnu_get_libc_version") != nullptr;
    return false;
  });
  return is;
}

template <typename Function>
bool find_in(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The registers that a call keeps, here and now.
__attribute__((always_inline)) inline void read_registers(libunwind::Word* registers) {
#if defined(__x86_64__)
  asm volatile(
      "leaq 0f(%%rip), %%rax\n"
      "0: movq %%rax, 128(%0)\n"
      "movq %%rbx, 24(%0)\n"
      "movq %%rbp, 48(%0)\n"
      "movq %%rsp, 56(%0)\n"
      "movq %%r12, 96(%0)\n"
      "movq %%r13, 104(%0)\n"
      "movq %%r14, 112(%0)\n"
      "movq %%r15, 120(%0)\n"
      :
      : "r"(registers)
      : "rax", "memory");
#endif
}

}  // namespace

Status Libunwind::find_functions() {
  const char* why = kNotFound;
  void* library = open_beside_this_library(&why);
  if (library == nullptr) library = load_library(kLibunwind, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const of_the_system = why_not_loaded();
    return Status::failed(why == kNotFound ? of_the_system : why);
  }
  auto& f = functions_;
  const bool found = find_in(library, "_Ux86_64_create_addr_space", f.create_addr_space) &&
                     find_in(library, "_Ux86_64_init_remote", f.init_remote) &&
                     find_in(library, "_Ux86_64_step", f.step) && find_in(library, "_Ux86_64_get_reg", f.get_reg) &&
                     find_in(library, "_Ux86_64_dwarf_search_unwind_table", f.dwarf_search_unwind_table) &&
                     find_in(library, "_Ux86_64_set_caching_policy", f.set_caching_policy) &&
                     find_in(library, "_Ux86_64_flush_cache", f.flush_cache);
  find_in(library, "_Ux86_64_set_cache_size", f.set_cache_size);  // 1.4 and newer
  return found ? Status::done() : Status::failed("libunwind-x86_64.so.8 lacks a required function");
}

Status Libunwind::open() {
#if !defined(__x86_64__)
  return Status::failed("recorded on x86-64 only");
#endif
  // The loader allocates. On the thread of one call another malloc than libc's may not (private_descriptor_table.h):
  // then the library's file takes a number of the program's for as long as it is being opened.
  Status found = Status::failed(kNotFound);
  const auto find = [&] { found = find_functions(); };
  if (!malloc_is_of_libc() || !run_with_private_descriptors(find)) find();
  if (!found) return found;
  // The first call reads configuration, opens descriptors and maps pools; here, so that no hook does.
  const bool started = run_with_private_descriptors([&] {
    libunwind::Accessors accessors = libunwind_accessors();
    space_ = functions_.create_addr_space(&accessors, 0);
    if (space_ == nullptr) return;
    functions_.set_caching_policy(space_, libunwind::kCacheGlobal);
    if (functions_.set_cache_size) functions_.set_cache_size(space_, kCachedFrames, 0);
    LibunwindTarget nothing(functions_, table_version_);
    libunwind::Cursor cursor;
    functions_.init_remote(&cursor, space_, &nothing);
  });
  if (!started)
    return Status::failed(
        "libunwind needs a thread with descriptors of its own, and none was to be had (a seccomp filter, valgrind)");
  if (space_ == nullptr) return Status::failed("libunwind could not create an address space");
  for (const auto version : {libunwind::TableInfo::since_1_6, libunwind::TableInfo::before_1_6}) {
    table_version_ = version;
    if (walks_one_frame()) {
      usable_.store(true, std::memory_order_release);
      return Status::done();
    }
    functions_.flush_cache(space_, 0, 0);
  }
  return Status::failed("libunwind returns wrong frames");
}

// From here to the caller.
__attribute__((noinline)) bool Libunwind::walks_one_frame() {
  void* addresses[2] = {};
  const auto frame_end = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 16;
  return walk(addresses, 2, frame_end) == 2 && addresses[1] == __builtin_return_address(0);
}

__attribute__((noinline)) int Libunwind::walk(void** addresses, int size, uint64_t stack_end) {
  LibunwindTarget target(functions_, table_version_);
  read_registers(target.registers);
  if (stack_end != 0) {
    target.stack_low = target.registers[libunwind::kRsp];
    target.stack_high = stack_end;
  }
  libunwind::Cursor cursor;
  if (functions_.init_remote(&cursor, space_, &target) != libunwind::kSuccess) return 0;
  int count = 0;
  while (count < size && functions_.step(&cursor) > 0) {
    libunwind::Word ip = 0;
    if (functions_.get_reg(&cursor, libunwind::kRip, &ip) != libunwind::kSuccess) break;
    addresses[count++] = reinterpret_cast<void*>(ip);
  }
  return count;
}

int Libunwind::backtrace(void** addresses, int size, uint64_t stack_end) {
  const int saved_errno = errno;
  const LoaderWalk inside;
  const int count = usable() ? walk(addresses, size, stack_end) : 0;
  errno = saved_errno;
  return count;
}

void Libunwind::flush() {
  const LoaderWalk inside;
  if (usable()) functions_.flush_cache(space_, 0, 0);
}

bool Libunwind::after_fork_in_child() {
  if (!LoaderWalk()) usable_.store(false, std::memory_order_release);
  return usable();
}

}  // namespace tensorscope::stacks
