#include "stacks/native/libunwind_loader.h"

#include <dlfcn.h>

#include <cstring>

namespace tensorscope::stacks {

namespace {

constexpr char kLibrary[] = "libunwind.so.8";

#if defined(__x86_64__)
// libunwind 1.6.2, include/libunwind-common.h: unw_NAME is _ULARCH_NAME for the local process.
constexpr char kFlushCache[] = "_ULx86_64_flush_cache";
constexpr char kLocalAddressSpace[] = "_ULx86_64_local_addr_space";
#elif defined(__aarch64__)
constexpr char kFlushCache[] = "_ULaarch64_flush_cache";
constexpr char kLocalAddressSpace[] = "_ULaarch64_local_addr_space";
#else
constexpr char kFlushCache[] = "";
constexpr char kLocalAddressSpace[] = "";
#endif

void* open_beside_this_library() {
  Dl_info self;
  if (dladdr(&kLibrary, &self) == 0 || self.dli_fname == nullptr) return nullptr;
  const char* slash = strrchr(self.dli_fname, '/');
  if (slash == nullptr) return nullptr;
  char path[4096];
  const size_t folder = size_t(slash - self.dli_fname) + 1;
  if (folder + sizeof kLibrary > sizeof path) return nullptr;
  memcpy(path, self.dli_fname, folder);
  memcpy(path + folder, kLibrary, sizeof kLibrary);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

bool Libunwind::open() {
  void* library = open_beside_this_library();
  if (library == nullptr) library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  const auto backtrace = reinterpret_cast<Backtrace>(dlsym(library, "unw_backtrace"));
  if (backtrace == nullptr) return false;
  flush_cache_ = reinterpret_cast<FlushCache>(dlsym(library, kFlushCache));
  if (void* space = dlsym(library, kLocalAddressSpace); space != nullptr) {
    local_address_space_ = *static_cast<void**>(space);
  }
  // The first call reads configuration, makes keys and maps its pools; here, so that no hook does.
  void* addresses[64];
  backtrace(addresses, 64);
  backtrace_.store(backtrace, std::memory_order_release);
  return true;
}

int Libunwind::backtrace(void** addresses, int size) {
  inside_.fetch_add(1, std::memory_order_acq_rel);
  const Backtrace function = backtrace_.load(std::memory_order_acquire);
  const int count = function == nullptr ? 0 : function(addresses, size);
  inside_.fetch_sub(1, std::memory_order_acq_rel);
  return count < 0 ? 0 : count;
}

void Libunwind::flush() {
  if (!usable() || flush_cache_ == nullptr || local_address_space_ == nullptr) return;
  inside_.fetch_add(1, std::memory_order_acq_rel);
  flush_cache_(local_address_space_, 0, 0);
  inside_.fetch_sub(1, std::memory_order_acq_rel);
}

bool Libunwind::after_fork_in_child() {
  if (inside_.exchange(0, std::memory_order_acq_rel) != 0) backtrace_.store(nullptr, std::memory_order_release);
  return usable();
}

}  // namespace tensorscope::stacks
