// SPDX-License-Identifier: Apache-2.0
// The allocation calls of the CUDA runtime, whoever makes them through the loader. What is taken with dlsym from the
// runtime itself, and a runtime that is linked statically, passes by (docs/limits.md).
//
// The real function is looked up once for each place that calls: two libraries may use two versions of the runtime.
#include <cstdlib>
#include <cstring>

#include "hooks/hook.h"
#include "live/tracker.h"
#include "oom/failure_record.h"
#include "support/binding.h"
#include "support/locks/spin_lock.h"
#include "support/options.h"
#include "support/spread_bits.h"
#include "support/unload_epoch_cache.h"

namespace tensorscope {

namespace {

using hooks::Binding;
using live::RuntimeKind;

enum class Call : uint8_t {
#define X(name, why) name,
  TENSORSCOPE_CUDA_RUNTIME_FUNCTIONS(X)
#undef X
};
constexpr const char* kNames[] = {
#define X(name, why) #name,
    TENSORSCOPE_CUDA_RUNTIME_FUNCTIONS(X)
#undef X
};
constexpr const char* name_of(Call call) { return kNames[size_t(call)]; }

constexpr int kSuccess = 0, kOutOfMemory = 2;  // cudaError_t

using GetDevice = int (*)(int*);

// Whose call it is.
struct Caller {
  void* function = nullptr;
  GetDevice get_device =
      nullptr;                   // cudaGetDevice of the same runtime: after a call of the thread, a word that it reads
  bool by_torch = false;         // some library of torch
  bool by_allocator = false;     // libc10_cuda, where torch's allocators of device memory are
  bool by_torch_pinner = false;  // libtorch_cuda, where torch's allocator of pinned memory is, or libc10_cuda
};

// A program that asks by a weak reference or dlsym whether there is a CUDA runtime finds ours: it hears that there is
// no device, whatever it calls.
int no_runtime() {
  constexpr int kNoDevice = 100;  // cudaErrorNoDevice
  return kNoDevice;
}

Caller look_up(Call call, const void* return_address) {
  const Binding binding = hooks::find_binding(name_of(call), return_address);
  Caller caller;
  caller.function = binding.function;
  if (!binding.function) {
    caller.function = reinterpret_cast<void*>(no_runtime);
    return caller;
  }
  caller.get_device = reinterpret_cast<GetDevice>(hooks::find_binding("cudaGetDevice", binding.function).function);
  if (!binding.caller) return caller;
  const auto is = [&](const char* prefix) { return binding.caller.file_name_begins_with(prefix); };
  caller.by_allocator = is("libc10_cuda.so") || is("libc10_hip.so");
  caller.by_torch_pinner = caller.by_allocator || is("libtorch_cuda.so") || is("libtorch_hip.so");
  caller.by_torch = is("libtorch") || is("libc10");
  return caller;
}

// Callers by the place that they return to, until an object is unloaded. A place that finds no room is looked up each
// time.
class KnownCallers {
 public:
  Caller find(Call call, const void* return_address) {
    const uint64_t generation = unload_generation();
    const uint64_t key = reinterpret_cast<uint64_t>(return_address) | uint64_t(call) << 56;
    Words words;
    for (size_t i = 0; i < kMaxSteps; ++i) {
      if (!entry_of(key, i).read(generation, words)) break;
      if (words.at[0] == key) return unpack(words);
    }
    const Caller found = look_up(call, return_address);
    if (found.function != reinterpret_cast<void*>(no_runtime)) add(generation, key, found);  // it may still be loaded
    return found;
  }

 private:
  static constexpr size_t kRoom = 512;
  static constexpr size_t kMaxSteps = 16;
  static constexpr unsigned kFlagShift = 60;  // user addresses end far below
  using Entry = UnloadEpochCache<3>;
  using Words = Entry::Words;

  Entry& entry_of(uint64_t key, size_t step) { return entries_[((spread_bits(key) >> 32) + step) & (kRoom - 1)]; }
  void add(uint64_t generation, uint64_t key, const Caller& caller) {
    if (!lock_.try_lock()) return;  // another thread adds one
    write(generation, key, caller);
    lock_.unlock();
  }
  void write(uint64_t generation, uint64_t key, const Caller& caller) {
    for (size_t i = 0; i < kMaxSteps; ++i) {
      Entry& entry = entry_of(key, i);
      Words words;
      if (!entry.read(generation, words)) return entry.write(generation, pack(key, caller));
      if (words.at[0] == key) return;
    }
  }
  static Words pack(uint64_t key, const Caller& caller) {
    const unsigned flags = caller.by_torch | caller.by_allocator << 1 | caller.by_torch_pinner << 2;
    return {{key, reinterpret_cast<uint64_t>(caller.function) | uint64_t{flags} << kFlagShift,
             reinterpret_cast<uint64_t>(caller.get_device)}};
  }
  static Caller unpack(const Words& words) {
    const uint64_t flags = words.at[1] >> kFlagShift;
    return {reinterpret_cast<void*>(words.at[1] & ((uint64_t{1} << kFlagShift) - 1)),
            reinterpret_cast<GetDevice>(words.at[2]), (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0};
  }
  Entry entries_[kRoom];
  SpinLock lock_;  // of writers; only ever tried
};
constinit KnownCallers g_callers;

// -1: not known.
int8_t current_device(const Caller& caller) {
  int device = -1;
  return caller.get_device && caller.get_device(&device) == kSuccess ? int8_t(device) : int8_t{-1};
}

// torch reads it once, before its first allocation (c10/cuda/CUDACachingAllocator.cpp, forceUncachedAllocator, 1.13 to
// 2.14), and so does this.
bool torch_does_not_cache() {
  static constinit std::atomic<int> known{-1};
  int value = known.load(std::memory_order_relaxed);
  if (value < 0) known.store(value = getenv("PYTORCH_NO_CUDA_MEMORY_CACHING") != nullptr, std::memory_order_relaxed);
  return value != 0;
}

constexpr bool is_host(RuntimeKind kind) { return kind == RuntimeKind::pinned || kind == RuntimeKind::registered; }

void ended(const Caller& caller, Call call, Word error, RuntimeKind kind, const void* pointer, uint64_t nbytes) {
  HookScope scope;
  if (!scope) return;
  constexpr int8_t kCuda = 1;
  if (int(error) == kSuccess) {
    if (caller.by_torch) oom::allocation_succeeded();
    if (pointer == nullptr || !options().cuda_runtime) return;
    live::RuntimeBlock block;
    block.pointer = pointer;
    block.nbytes = nbytes;
    block.kind = kind;
    if (is_host(kind)) {
      block.by_torch = caller.by_torch_pinner;
    } else {
      block.device = {kCuda, current_device(caller)};
      block.by_torch = caller.by_allocator && kind != RuntimeKind::managed;
      block.is_allocation = block.by_torch && (kind == RuntimeKind::async || torch_does_not_cache());
    }
    live::runtime_allocated(block);
  } else if (int(error) == kOutOfMemory && caller.by_torch) {
    if (is_host(kind)) {
      oom::runtime_call_failed(dump::Kind::pinned, {}, nbytes, name_of(call));
    } else {
      oom::runtime_call_failed(dump::Kind::device, {kCuda, current_device(caller)}, nbytes, name_of(call));
    }
  }
}

// `a` is the address of the pointer that the call fills in.
void made(const Caller& caller, Call call, Word error, RuntimeKind kind, Word a, uint64_t nbytes) {
  const void* pointer = int(error) == kSuccess && a != 0 ? *reinterpret_cast<void* const*>(a) : nullptr;
  ended(caller, call, error, kind, pointer, nbytes);
}

// Before the real call: then another thread may get the same address.
void goes(Word pointer) {
  if (pointer == 0) return;
  if (HookScope scope; scope && options().cuda_runtime) {
    live::runtime_freed(reinterpret_cast<const void*>(pointer));
  }
}

Word forward(const Caller& caller, HOOK_PARAMETERS) {
  return reinterpret_cast<RealFunction>(caller.function)(HOOK_ARGUMENTS);
}

// struct cudaPitchedPtr and cudaExtent.
struct PitchedPointer {
  void* pointer;
  size_t pitch, width, height;
};
struct Extent {
  size_t width, height, depth;
};

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define CALLER(name) const Caller caller = g_callers.find(Call::name, __builtin_return_address(0))

// What is filled in through the first argument; `nbytes` may use a to f.
#define HOOK_OF_ALLOCATION(name, kind, nbytes)                     \
  EXPORTED Word name(HOOK_PARAMETERS) {                            \
    CALLER(name);                                                  \
    const Word error = forward(caller, HOOK_ARGUMENTS);            \
    made(caller, Call::name, error, RuntimeKind::kind, a, nbytes); \
    return error;                                                  \
  }
HOOK_OF_ALLOCATION(cudaMalloc, device, b)
HOOK_OF_ALLOCATION(cudaMallocManaged, managed, b)
HOOK_OF_ALLOCATION(cudaMallocAsync, async, b)
HOOK_OF_ALLOCATION(cudaMallocAsync_ptsz, async, b)
HOOK_OF_ALLOCATION(cudaMallocFromPoolAsync, async, b)
HOOK_OF_ALLOCATION(cudaMallocFromPoolAsync_ptsz, async, b)
HOOK_OF_ALLOCATION(cudaHostAlloc, pinned, b)
HOOK_OF_ALLOCATION(cudaMallocHost, pinned, b)
// (pointer, pitch, width, height)
HOOK_OF_ALLOCATION(cudaMallocPitch, device, (int(error) == kSuccess ? *reinterpret_cast<size_t*>(b) : c) * d)

// The extent is passed in memory: no word of a register.
EXPORTED Word cudaMalloc3D(PitchedPointer* out, Extent extent) {
  CALLER(cudaMalloc3D);
  const Word error = reinterpret_cast<Word (*)(PitchedPointer*, Extent)>(caller.function)(out, extent);
  const size_t row = int(error) == kSuccess ? out->pitch : extent.width;
  made(caller, Call::cudaMalloc3D, error, RuntimeKind::device, Word(out), row * extent.height * extent.depth);
  return error;
}

EXPORTED Word cudaHostRegister(HOOK_PARAMETERS) {
  CALLER(cudaHostRegister);
  const Word error = forward(caller, HOOK_ARGUMENTS);
  ended(caller, Call::cudaHostRegister, error, RuntimeKind::registered, reinterpret_cast<void*>(a), b);
  return error;
}

#define HOOK_OF_RELEASE(name)               \
  EXPORTED Word name(HOOK_PARAMETERS) {     \
    CALLER(name);                           \
    goes(a);                                \
    return forward(caller, HOOK_ARGUMENTS); \
  }
HOOK_OF_RELEASE(cudaFree)
HOOK_OF_RELEASE(cudaFreeAsync)
HOOK_OF_RELEASE(cudaFreeAsync_ptsz)
HOOK_OF_RELEASE(cudaFreeHost)
HOOK_OF_RELEASE(cudaHostUnregister)

}  // namespace tensorscope
