#include "snapshot/devices/driver.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

#include "hooks/binding.h"
#include "snapshot/devices/nvml.h"
#include "support/clock.h"
#include "support/futex.h"
#include "support/helper_thread.h"
#include "support/pages.h"
#include "support/spin_lock.h"
#include "support/state.h"

namespace tensorscope::snapshot {

namespace {

constexpr size_t kDriverStackBytes = size_t{512} << 10;
constexpr int kCudaSuccess = 0;  // cudaError_t
constexpr int kRelaxed = 2;      // cudaStreamCaptureModeRelaxed
// More than any version's struct cudaDeviceProp, whose first field is the name (driver_types.h).
constexpr size_t kPropertiesBytes = 8192;
constexpr size_t kBusIdBytes = 32;

// The thread that asks, and nobody else: at most one runs at a time.
constinit Nvml g_nvml;
constinit SpinLock g_asking;  // only ever tried; the thread gives it back

// The runtime that torch uses.
class Runtime {
 public:
  Runtime() : inside_(reinterpret_cast<const void*>(find_object("libc10_cuda.so").begin)) {
    find("cudaDeviceGetPCIBusId", bus_id_);
    find("cudaGetDeviceProperties_v2", properties_);
    if (!properties_) find("cudaGetDeviceProperties", properties_);
    find("cudaSetDevice", set_device_);
    find("cudaMemGetInfo", memory_);
    find("cudaThreadExchangeStreamCaptureMode", exchange_mode_);
  }

  bool bus_id(int device, char (&text)[kBusIdBytes]) const {
    return bus_id_ && bus_id_(text, sizeof text, device) == kCudaSuccess;
  }

  void read_name(int device, DriverFacts& facts) const {
    char properties[kPropertiesBytes] = {};
    if (!properties_ || properties_(properties, device) != kCudaSuccess) return;
    properties[sizeof facts.name - 1] = 0;
    memcpy(facts.name, properties, sizeof facts.name);
  }

  // A capture of a graph on another thread forbids calls that it takes for unsafe to all threads but relaxed ones.
  bool read_memory(int device, DriverFacts& facts) const {
    if (!set_device_ || !memory_) return false;
    int mode = kRelaxed;
    if (exchange_mode_ && exchange_mode_(&mode) != kCudaSuccess) return false;
    size_t free = 0, total = 0;
    if (set_device_(device) != kCudaSuccess || memory_(&free, &total) != kCudaSuccess) return false;
    facts.free = free;
    facts.total = total;
    return true;
  }

 private:
  template <typename Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(hooks::find_binding(name, inside_).function);
  }
  const void* inside_;
  int (*bus_id_)(char*, int, int) = nullptr;
  int (*properties_)(void*, int) = nullptr;
  int (*set_device_)(int) = nullptr;
  int (*memory_)(size_t*, size_t*) = nullptr;
  int (*exchange_mode_)(int*) = nullptr;
};

void add_detail(DriverFacts& facts, const char* what) {
  const size_t used = strlen(facts.detail);
  snprintf(facts.detail + used, sizeof facts.detail - used, "%s%s", used ? "; " : "", what);
}

void ask_about(const Runtime& runtime, bool nvml, DriverFacts& facts) {
  char bus_id[kBusIdBytes] = {};
  bool told = false;
  if (!nvml) {
    add_detail(facts, g_nvml.trouble());
  } else if (!runtime.bus_id(facts.device, bus_id)) {
    add_detail(facts, "the runtime does not tell the device's PCI address");
  } else {
    told = g_nvml.look(bus_id, facts);
  }
  if (!facts.name[0]) runtime.read_name(facts.device, facts);
  if (told) return;
  add_detail(facts, runtime.read_memory(facts.device, facts) ? "total and free are cudaMemGetInfo's"
                                                             : "cudaMemGetInfo gives no answer either");
}

}  // namespace

// Belongs to both threads; who leaves last gives it back.
struct DriverAnswers::Shared {
  enum : uint32_t { kAsking, kAnswered, kAbandoned };
  std::atomic<uint32_t> stage;
  pthread_t thread;
  uint64_t until_ns;
  size_t count;
  DriverFacts facts[kMostDevices];
};

void* DriverAnswers::run(void* argument) {
  ++t_inside;
  pthread_setname_np(pthread_self(), "tensorscope-drv");
  auto* shared = static_cast<Shared*>(argument);
  const bool nvml = g_nvml.start();
  const Runtime runtime;
  for (size_t i = 0; i < shared->count; ++i) ask_about(runtime, nvml, shared->facts[i]);
  if (nvml) g_nvml.stop();
  g_asking.unlock();
  if (shared->stage.exchange(Shared::kAnswered, std::memory_order_acq_rel) == Shared::kAbandoned) {
    unmap_pages(shared, sizeof(Shared));
  } else {
    futex_wake(shared->stage);
  }
  return nullptr;
}

void DriverAnswers::ask(const int8_t* devices, size_t count) {
  if (count == 0) return;
  if (!g_asking.try_lock()) {
    why_ = "the driver has not yet answered what it was asked for an earlier dump";
    return;
  }
  auto* shared = static_cast<Shared*>(map_pages(sizeof(Shared)));
  if (!shared) {
    g_asking.unlock();
    why_ = "there was not enough memory to ask the driver";
    return;
  }
  shared->count = count < kMostDevices ? count : kMostDevices;
  for (size_t i = 0; i < shared->count; ++i) shared->facts[i].device = devices[i];
  shared->until_ns = monotonic_ns() + uint64_t{kPatienceMs} * 1'000'000;
  if (start_helper_thread(kDriverStackBytes, run, shared, &shared->thread)) {
    shared_ = shared;
  } else {
    unmap_pages(shared, sizeof(Shared));
    g_asking.unlock();
    why_ = "no thread could be made to ask the driver";
  }
}

void DriverAnswers::wait() {
  if (!shared_ || answered_) return;
  Shared& shared = *shared_;
  while (shared.stage.load(std::memory_order_acquire) == Shared::kAsking) {
    if (!futex_wait_until(shared.stage, Shared::kAsking, shared.until_ns)) break;
  }
  const pthread_t thread = shared.thread;  // the thread may give the memory back as soon as it is abandoned
  uint32_t stage = Shared::kAsking;
  if (shared.stage.compare_exchange_strong(stage, Shared::kAbandoned, std::memory_order_acq_rel)) {
    pthread_detach(thread);
    shared_ = nullptr;
    why_ = "the driver did not answer in time";
  } else {
    pthread_join(thread, nullptr);
    answered_ = true;
  }
}

const DriverFacts* DriverAnswers::of(int8_t device) const {
  for (size_t i = 0; shared_ && i < shared_->count; ++i) {
    if (shared_->facts[i].device == device) return &shared_->facts[i];
  }
  return nullptr;
}

DriverAnswers::~DriverAnswers() {
  wait();
  unmap_pages(shared_, sizeof(Shared));
}

}  // namespace tensorscope::snapshot
