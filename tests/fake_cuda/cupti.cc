// SPDX-License-Identifier: Apache-2.0
// The double of CUPTI: one subscriber, calls, and activity records of memory, kernels, copies and fills, fed by the
// doubles of the runtime and the driver (activity.h). Records have the sizes and offsets of CUDA 12.4 or 13.0
// (cupti_activity.h), whichever the double is built for. A buffer is handed over when it is full or flushed, on the
// thread that does it.
//
// Environment:
//   TENSORSCOPE_FAKE_CUDA_CUPTI=off    answers 999, as the real one does without a driver
//   TENSORSCOPE_FAKE_CUDA_CUPTI=busy   another tool has subscribed: 39
// fake_cupti_subscribe() takes the subscription from inside the program, as a library would whose calls cannot be
// interposed.
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "activity.h"
#include "fake_device.h"

#ifndef FAKE_CUDA_VERSION
#define FAKE_CUDA_VERSION 13000
#endif

namespace {

using fake_cuda::Api;
using fake_cuda::CallId;

enum Answer { fine = 0, invalid = 1, max_limit = 12, multiple_subscribers = 39, unknown = 999 };

constexpr bool kNew = FAKE_CUDA_VERSION >= 13000;
constexpr uint32_t kMemcpy = 1, kMemset = 2, kConcurrentKernel = 10, kMemory = 49;
constexpr uint32_t kKinds = 256;

constexpr size_t size_of(uint32_t kind) {
  switch (kind) {
    case kMemory:
      return kNew ? 128 : 120;
    case kConcurrentKernel:
      return kNew ? 216 : 208;
    case kMemcpy:
      return kNew ? 96 : 88;
    case kMemset:
      return 88;
    default:
      return 0;
  }
}

struct CallbackData {  // CUpti_CallbackData
  int site;
  const char* function;
  const void* parameters;
  void* returned;
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* own;
  uint32_t correlation;
};

using Callback = void (*)(void* user, int domain, uint32_t call, const CallbackData* data);
using Request = void (*)(uint8_t** buffer, size_t* size, size_t* most);
using Complete = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

struct State {
  std::mutex mutex;
  bool subscribed = false;
  Callback callback = nullptr;
  void* user = nullptr;
  bool calls[3][1024] = {};
  bool kinds[kKinds] = {};
  Request request = nullptr;
  Complete complete = nullptr;
  uint8_t* buffer = nullptr;
  size_t size = 0, used = 0, dropped = 0;
};
State& state() {
  static State& all = *new State;  // never destroyed
  return all;
}

bool answers(const char* what) {
  const char* text = getenv("TENSORSCOPE_FAKE_CUDA_CUPTI");
  return text && strcmp(text, what) == 0;
}

using Clock = uint64_t (*)();
std::atomic<Clock> g_clock{nullptr};  // a client's own, in its own units

uint64_t now_ns() {
  if (const Clock clock = g_clock.load()) return clock();
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

// The callbacks of the client run without the lock: they may call us.
void hand_over(std::unique_lock<std::mutex>& lock) {
  State& all = state();
  if (!all.buffer || !all.complete) return;
  uint8_t* const buffer = all.buffer;
  const size_t size = all.size, used = all.used;
  const Complete complete = all.complete;
  all.buffer = nullptr;
  lock.unlock();
  complete(nullptr, 0, buffer, size, used);
  lock.lock();
}

class Record {
 public:
  explicit Record(uint32_t kind) : kind_(kind) { set(0, kind); }
  template <typename T>
  void set(size_t offset, T value) {
    memcpy(bytes_ + offset, &value, sizeof value);
  }
  void append() {
    State& all = state();
    std::unique_lock lock(all.mutex);
    if (!all.kinds[kind_] || !all.request) return;
    const size_t size = size_of(kind_);
    if (all.buffer && all.used + size > all.size) hand_over(lock);
    if (!all.buffer) {
      size_t most = 0;
      all.request(&all.buffer, &all.size, &most);
      all.used = 0;
    }
    if (!all.buffer) {
      ++all.dropped;
      return;
    }
    memcpy(all.buffer + all.used, bytes_, size);
    all.used += size;
  }

 private:
  uint8_t bytes_[216] = {};
  uint32_t kind_;
};

void on_call(bool begins, Api api, CallId id, const char* name, const void* parameters, int* returned,
             uint32_t correlation) {
  State& all = state();
  Callback callback = nullptr;
  void* user = nullptr;
  {
    std::lock_guard lock(all.mutex);
    if (!all.subscribed || !all.calls[int(api)][uint32_t(id)]) return;
    callback = all.callback;
    user = all.user;
  }
  uint64_t own = 0;
  const CallbackData data = {begins ? 0 : 1, name, parameters, returned, nullptr, nullptr, 1, &own, correlation};
  if (callback) callback(user, int(api), uint32_t(id), &data);
}

void on_memory(bool allocation, const void* address, size_t nbytes, int memory_kind, bool asynchronous, int device,
               uint32_t correlation) {
  Record record(kMemory);
  record.set(4, uint32_t(allocation ? 1 : 2));
  record.set(8, uint32_t(memory_kind));
  record.set(12, correlation);
  record.set(16, reinterpret_cast<uint64_t>(address));
  record.set(24, uint64_t(nbytes));
  record.set(32, now_ns());
  record.set(48, uint32_t(getpid()));
  record.set(52, uint32_t(device));
  record.set(56, uint32_t(device + 1));
  record.set(60, uint32_t(asynchronous ? 7 : 0));
  record.set(72, uint32_t(asynchronous));
  record.append();
}

void on_kernel(int device, uint32_t correlation) {
  Record record(kConcurrentKernel);
  const uint64_t now = now_ns();
  record.set(16, now);
  record.set(24, now + 1000);
  record.set(40, uint32_t(device));
  record.set(44, uint32_t(device + 1));
  record.set(48, uint32_t(7));
  for (const size_t shape : {52, 56, 60, 64, 68, 72}) record.set(shape, int32_t(1));  // grid and block
  record.set(92, correlation);
  record.set(104, static_cast<const char*>("kernel_of_the_double"));
  record.append();
}

void on_copy(int kind, size_t nbytes, int device, uint32_t correlation) {
  Record record(kMemcpy);
  const uint64_t now = now_ns();
  record.set(4, uint8_t(kind == 3 ? 8 : kind));  // CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
  record.set(8, uint64_t(nbytes));
  record.set(16, now);
  record.set(24, now + 1000);
  record.set(32, uint32_t(device));
  record.set(36, uint32_t(device + 1));
  record.set(40, uint32_t(7));
  record.set(44, correlation);
  record.append();
}

void on_fill(size_t nbytes, int device, uint32_t correlation) {
  Record record(kMemset);
  const uint64_t now = now_ns();
  record.set(8, uint64_t(nbytes));
  record.set(16, now);
  record.set(24, now + 1000);
  record.set(32, uint32_t(device));
  record.set(36, uint32_t(device + 1));
  record.set(40, uint32_t(7));
  record.set(44, correlation);
  record.append();
}

void listen() {
  static constexpr fake_cuda::Listener listener = {on_call, on_memory, on_kernel, on_copy, on_fill};
  fake_cuda::set_listener(&listener);
}

int subscribe(void** subscriber, Callback callback, void* user) {
  if (answers("off")) return unknown;
  if (answers("busy")) return multiple_subscribers;
  std::lock_guard lock(state().mutex);
  if (state().subscribed) return multiple_subscribers;
  state().subscribed = true;
  state().callback = callback;
  state().user = user;
  *subscriber = &state();
  listen();
  return fine;
}

}  // namespace

FAKE_CUDA_API int cuptiGetVersion(uint32_t* version) {
  *version = kNew ? 130001 : 22;
  return fine;
}
FAKE_CUDA_API int cuptiGetTimestamp(uint64_t* ns) {
  *ns = now_ns();
  return fine;
}
FAKE_CUDA_API int cuptiGetResultString(int result, const char** text) {
  *text = result == fine                   ? "CUPTI_SUCCESS"
          : result == max_limit            ? "CUPTI_ERROR_MAX_LIMIT_REACHED"
          : result == multiple_subscribers ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                           : "CUPTI_ERROR_UNKNOWN";
  return fine;
}
FAKE_CUDA_API int cuptiGetCallbackName(int, uint32_t, const char** name) {
  *name = "a call";
  return fine;
}

FAKE_CUDA_API int cuptiSubscribe(void** subscriber, Callback callback, void* user) {
  return subscribe(subscriber, callback, user);
}
FAKE_CUDA_API int fake_cupti_subscribe() {
  void* subscriber = nullptr;
  return subscribe(&subscriber, nullptr, nullptr);
}
FAKE_CUDA_API int cuptiUnsubscribe(void* subscriber) {
  if (subscriber != &state()) return invalid;
  std::lock_guard lock(state().mutex);
  state().subscribed = false;
  memset(state().calls, 0, sizeof state().calls);
  return fine;
}
FAKE_CUDA_API int cuptiEnableCallback(uint32_t on, void* subscriber, int domain, uint32_t call) {
  if (subscriber != &state()) return invalid;
  if (domain != 1 && domain != 2) return fine;  // resources, synchronisation: nothing comes of them
  if (call >= 1024) return invalid;
  std::lock_guard lock(state().mutex);
  state().calls[domain][call] = on != 0;
  return fine;
}
FAKE_CUDA_API int cuptiEnableDomain(uint32_t on, void* subscriber, int domain) {
  if (subscriber != &state()) return invalid;
  if (domain != 1 && domain != 2) return fine;
  std::lock_guard lock(state().mutex);
  for (bool& call : state().calls[domain]) call = on != 0;
  return fine;
}

FAKE_CUDA_API int cuptiActivityRegisterCallbacks(Request request, Complete complete) {
  if (answers("off")) return unknown;
  std::lock_guard lock(state().mutex);
  state().request = request;
  state().complete = complete;
  listen();
  return fine;
}
FAKE_CUDA_API int cuptiActivityEnable(uint32_t kind) {
  if (answers("off")) return unknown;
  if (kind >= kKinds) return invalid;
  std::lock_guard lock(state().mutex);
  state().kinds[kind] = true;
  listen();
  return fine;
}
FAKE_CUDA_API int cuptiActivityDisable(uint32_t kind) {
  if (kind >= kKinds) return invalid;
  std::lock_guard lock(state().mutex);
  state().kinds[kind] = false;
  return fine;
}
FAKE_CUDA_API int cuptiActivityFlushAll(uint32_t) {
  if (answers("off")) return unknown;
  std::unique_lock lock(state().mutex);
  hand_over(lock);
  return fine;
}
FAKE_CUDA_API int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, uint8_t** record) {
  uint8_t* next = buffer;
  if (*record) {
    uint32_t kind = 0;
    memcpy(&kind, *record, sizeof kind);
    next = *record + size_of(kind);
  }
  if (next >= buffer + valid) return max_limit;
  *record = next;
  return fine;
}
FAKE_CUDA_API int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  std::lock_guard lock(state().mutex);
  *dropped = state().dropped;
  state().dropped = 0;
  return fine;
}

FAKE_CUDA_API int cuptiActivityRegisterTimestampCallback(Clock clock) {
  g_clock.store(clock);
  return fine;
}

// What torch.profiler asks for besides: there is nothing to do.
FAKE_CUDA_API int cuptiActivitySetAttribute() { return fine; }
FAKE_CUDA_API int cuptiActivityEnableRuntimeApi() { return fine; }
FAKE_CUDA_API int cuptiActivityEnableDriverApi() { return fine; }
FAKE_CUDA_API int cuptiActivityEnableCudaEventDeviceTimestamps() { return fine; }
FAKE_CUDA_API int cuptiActivityPushExternalCorrelationId() { return fine; }
FAKE_CUDA_API int cuptiActivityPopExternalCorrelationId(int, uint64_t* last) {
  if (last) *last = 0;
  return fine;
}
FAKE_CUDA_API int cuptiFinalize() { return fine; }
