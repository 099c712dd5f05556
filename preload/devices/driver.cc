#include "devices/driver.h"

#include <stdio.h>
#include <string.h>

#include "devices/nvml.h"
#include "support/binding.h"
#include "support/spin_lock.h"

namespace tensorscope::devices {

namespace {

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
    add_detail(facts, "the CUDA runtime does not report the device's PCI address");
  } else {
    told = g_nvml.look(bus_id, facts);
  }
  if (!facts.name[0]) runtime.read_name(facts.device, facts);
  if (told) return;
  add_detail(facts, runtime.read_memory(facts.device, facts) ? "total and free are from cudaMemGetInfo"
                                                             : "cudaMemGetInfo gave no answer either");
}

}  // namespace

struct DriverAnswers::Question : TimedThread::Shared {
  size_t count;
  DriverFacts facts[kMostDevices];
};

constinit const TimedThread::Kind DriverAnswers::kKind = {"tensorscope-drv", answer, &g_asking};

void DriverAnswers::answer(TimedThread::Shared& shared) {
  auto& question = static_cast<Question&>(shared);
  const bool nvml = g_nvml.start();
  const Runtime runtime;
  for (size_t i = 0; i < question.count; ++i) ask_about(runtime, nvml, question.facts[i]);
  if (nvml) g_nvml.stop();
}

void DriverAnswers::ask(const int8_t* devices, size_t count) {
  if (count == 0) return;
  switch (thread_.prepare(kKind, sizeof(Question))) {
    case TimedThread::Prepared::still_running:
      why_ = "the driver has not yet answered the query of an earlier dump";
      return;
    case TimedThread::Prepared::no_memory:
      why_ = "not enough memory to query the driver";
      return;
    case TimedThread::Prepared::yes:
      break;
  }
  auto* question = thread_.shared<Question>();
  question->count = count < kMostDevices ? count : kMostDevices;
  for (size_t i = 0; i < question->count; ++i) question->facts[i].device = devices[i];
  if (!thread_.start(uint64_t{kPatienceMs} * 1'000'000)) why_ = "no thread could be started to query the driver";
}

void DriverAnswers::wait() {
  if (answered_ || thread_.shared<Question>() == nullptr) return;
  answered_ = thread_.wait();
  if (!answered_) why_ = "the driver did not answer in time";
}

const DriverFacts* DriverAnswers::of(int8_t device) const {
  const Question* question = answered_ ? thread_.shared<Question>() : nullptr;
  for (size_t i = 0; question && i < question->count; ++i) {
    if (question->facts[i].device == device) return &question->facts[i];
  }
  return nullptr;
}

}  // namespace tensorscope::devices
