// SPDX-License-Identifier: Apache-2.0
#include "process/thread_places.h"

#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "process/call_site.h"
#include "process/object_maps.h"
#include "process/process_memory.h"
#include "support/process_file.h"

namespace tensorscope::process {

namespace {

enum class Object { program, libc, loader, allocator };

struct Frame {
  uint64_t address = 0;
  bool returns = false;  // the address is behind a call
  Object object = Object::program;
  std::string function;  // "" where the object has no name for it
};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Object object_of(std::string_view path) {
  const std::string_view name = file_name(path);
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (begins("ld-linux") || begins("ld-2.") || begins("ld.so")) return Object::loader;
  if (begins("libc.so") || begins("libc-2.") || begins("libpthread")) return Object::libc;
  for (const char* allocator : {"libjemalloc", "libtcmalloc", "libmimalloc", "libhoard", "libasan", "libtsan"}) {
    if (begins(allocator)) return Object::allocator;
  }
  return Object::program;
}

int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

const Dwfl_Callbacks kCallbacks = {dwfl_linux_proc_find_elf, no_debug_file, nullptr, nullptr};

int add_frame(Dwfl_Frame* state, void* context) {
  auto& frames = *static_cast<std::vector<Frame>*>(context);
  constexpr size_t kMax = 4096;
  Dwarf_Addr address = 0;
  bool activation = false;
  if (frames.size() >= kMax || !dwfl_frame_pc(state, &address, &activation)) return DWARF_CB_ABORT;
  Dwfl* dwfl = dwfl_thread_dwfl(dwfl_frame_thread(state));
  Dwfl_Module* module = dwfl_addrmodule(dwfl, address);
  Frame frame;
  frame.address = address;
  frame.returns = !activation;
  Dwarf_Addr begin = 0, end = 0;
  const char* path =
      module != nullptr ? dwfl_module_info(module, nullptr, &begin, &end, nullptr, nullptr, nullptr, nullptr) : nullptr;
  // libdw gives an address beyond the last module to that one, which is the loader.
  if (address >= begin && address < end) {
    frame.object = object_of(path != nullptr ? path : "");
    if (frame.object != Object::program) {
      GElf_Off offset = 0;
      GElf_Sym symbol;
      const char* name =
          dwfl_module_addrinfo(module, activation ? address : address - 1, &offset, &symbol, nullptr, nullptr, nullptr);
      if (name != nullptr && offset < symbol.st_size) frame.function = name;
    }
  }
  frames.push_back(std::move(frame));
  return DWARF_CB_OK;
}

// The functions through which every thread begins.
bool begins_thread(const Frame& frame) {
  static constexpr std::string_view kNames[] = {"__libc_start", "start_thread", "clone", "__clone"};
  const std::string_view name = frame.function;
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view known) { return name.starts_with(known); });
}

class Places : public ThreadPlaces {
 public:
  Places(pid_t pid, Dwfl* dwfl) : pid_(pid), dwfl_(dwfl) {}
  ~Places() override { dwfl_end(dwfl_); }

  ThreadPlace of(pid_t thread) override {
    std::vector<Frame> frames;
    const int outcome = dwfl_getthread_frames(dwfl_, thread, add_frame, &frames);
    ThreadPlace place;
    place.loading =
        std::any_of(frames.begin(), frames.end(), [](const Frame& frame) { return frame.object == Object::loader; });
    place.why = trouble(frames, outcome == 0);
    place.safe = place.why.empty();
    return place;
  }

 private:
  std::string trouble(const std::vector<Frame>& frames, bool whole) const {
    if (frames.empty()) return "its stack cannot be read";
    // The outermost frames belong to libc: they start the thread. Where unwinding ends before them, what lies between
    // is not known.
    size_t end = frames.size();
    const auto is_beginning = [](const Frame& frame) {
      return frame.object == Object::libc && (frame.function.empty() || begins_thread(frame));
    };
    if (end >= 2 && frames[end - 1].object == Object::program && is_beginning(frames[end - 2])) --end;  // _start
    while (end > 0 && is_beginning(frames[end - 1])) --end;
    const bool from_the_start = whole || end < frames.size();
    size_t inner = 0;
    while (inner < end && frames[inner].object == Object::libc) ++inner;
    for (size_t i = inner; i < end; ++i) {
      if (frames[i].object == Object::loader) return "it is inside the dynamic loader";
      if (frames[i].object == Object::allocator) return "it is inside the memory allocator";
      if (frames[i].object == Object::libc) {
        return frames[i].function.empty() ? "it is inside libc" : fmt::format("it is inside {}()", frames[i].function);
      }
    }
    if (inner > 0) {
      std::string entered = frames[inner - 1].function;
      if (entered.empty() && inner < end) entered = function_called_from(frames[inner]);
      if (!waits_in(entered)) return entered.empty() ? "it is inside libc" : fmt::format("it is inside {}()", entered);
    }
    return from_the_start ? "" : "its stack cannot be followed to the end";
  }

  // The function of libc that a frame of the program has called; "" if it is not known.
  std::string function_called_from(const Frame& frame) const {
    if (!frame.returns) return "";
    const uint64_t called = called_function(frame.address, [this](uint64_t address, void* bytes, size_t size) {
      return read_memory(pid_, address, bytes, size) == size;
    });
    Dwfl_Module* module = called == 0 ? nullptr : dwfl_addrmodule(dwfl_, called);
    if (module == nullptr) return "";
    const char* path = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* name = dwfl_module_addrinfo(module, called, &offset, &symbol, nullptr, nullptr, nullptr);
    const bool is_of_libc = path != nullptr && object_of(path) == Object::libc;
    return is_of_libc && name != nullptr && offset == 0 ? name : "";
  }

  pid_t pid_;
  Dwfl* dwfl_;
};

}  // namespace

bool waits_in(const std::string& function) {
  static constexpr std::string_view kNames[] = {"accept",
                                                "accept4",
                                                "clock_nanosleep",
                                                "epoll_pwait",
                                                "epoll_pwait2",
                                                "epoll_wait",
                                                "fdatasync",
                                                "fsync",
                                                "futex_wait",
                                                "ioctl",
                                                "msgrcv",
                                                "nanosleep",
                                                "pause",
                                                "poll",
                                                "ppoll",
                                                "pread",
                                                "pread64",
                                                "pselect",
                                                "pthread_barrier_wait",
                                                "pthread_clockjoin_np",
                                                "pthread_cond_clockwait",
                                                "pthread_cond_timedwait",
                                                "pthread_cond_wait",
                                                "pthread_join",
                                                "pthread_mutex_clocklock",
                                                "pthread_mutex_lock",
                                                "pthread_mutex_timedlock",
                                                "pthread_rwlock_rdlock",
                                                "pthread_rwlock_wrlock",
                                                "pthread_timedjoin_np",
                                                "pthread_tryjoin_np",
                                                "pwrite",
                                                "pwrite64",
                                                "read",
                                                "readv",
                                                "recv",
                                                "recvfrom",
                                                "recvmsg",
                                                "sched_yield",
                                                "select",
                                                "sem_clockwait",
                                                "sem_timedwait",
                                                "sem_wait",
                                                "semop",
                                                "semtimedop",
                                                "send",
                                                "sendmsg",
                                                "sendto",
                                                "sigsuspend",
                                                "sigtimedwait",
                                                "sigwait",
                                                "sigwaitinfo",
                                                "sleep",
                                                "splice",
                                                "syscall",
                                                "usleep",
                                                "wait",
                                                "wait3",
                                                "wait4",
                                                "waitid",
                                                "waitpid",
                                                "write",
                                                "writev"};
  std::string_view name = function;
  while (name.starts_with("_")) name.remove_prefix(1);
  if (name.starts_with("libc_")) name.remove_prefix(5);
  name = name.substr(0, name.find('@'));
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

namespace {

// As dwfl_linux_proc_report() does, but for files that lie apart from their object (object_maps.h).
bool report_objects(Dwfl* dwfl, pid_t pid) {
  const std::vector<Mapping> mappings = object_mappings(analyzer::read_process_file(pid, "maps").value_or(""));
  std::string maps;
  for (const Mapping& mapping : mappings) maps += mapping.line + '\n';
  FILE* const file = maps.empty() ? nullptr : fmemopen(maps.data(), maps.size(), "r");
  if (file == nullptr) return false;
  const bool read = dwfl_linux_proc_maps_report(dwfl, file) == 0;
  fclose(file);
  for (const Mapping& mapping : mappings) {
    // The name by which dwfl_linux_proc_find_elf() reads it from the process's memory.
    const std::string name = fmt::format("[vdso: {}]", pid);
    if (mapping.name == "[vdso]") dwfl_report_module(dwfl, name.c_str(), mapping.begin, mapping.end);
  }
  return read;
}

}  // namespace

std::unique_ptr<ThreadPlaces> ThreadPlaces::open(pid_t pid) {
  Dwfl* dwfl = dwfl_begin(&kCallbacks);
  if (dwfl == nullptr) return nullptr;
  if (!report_objects(dwfl, pid) || dwfl_report_end(dwfl, nullptr, nullptr) != 0 ||
      dwfl_linux_proc_attach(dwfl, pid, true) != 0) {
    dwfl_end(dwfl);
    return nullptr;
  }
  return std::make_unique<Places>(pid, dwfl);
}

}  // namespace tensorscope::process
