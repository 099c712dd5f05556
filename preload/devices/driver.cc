// SPDX-License-Identifier: Apache-2.0
#include "devices/driver.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "devices/nvml.h"
#include "support/binding.h"
#include "support/helper_thread.h"
#include "support/locks/spin_lock.h"
#include "support/private_descriptor_table.h"

namespace tensorscope::devices {

namespace {

constexpr int kCudaSuccess = 0;  // cudaError_t
constexpr int kRelaxed = 2;      // cudaStreamCaptureModeRelaxed
// More than any version's struct cudaDeviceProp, whose first field is the name (driver_types.h).
constexpr size_t kPropertiesBytes = 8192;
constexpr size_t kBusIdBytes = 32;

// The thread that queries the driver, and nobody else: at most one runs at a time.
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

// Some libraries take the descriptors 0 to 2 for none: in an empty table they are taken while NVML opens its own.
class LowNumbersTaken {
 public:
  LowNumbersTaken() {
    if (!has_private_descriptors()) return;
    for (int number; (number = eventfd(0, EFD_CLOEXEC)) >= 0;) {
      if (number > 2) {
        close(number);
        break;
      }
      taken_[number] = true;
    }
  }
  ~LowNumbersTaken() {
    for (int number = 0; number < 3; ++number) {
      if (taken_[number]) close(number);
    }
  }
  LowNumbersTaken(const LowNumbersTaken&) = delete;
  LowNumbersTaken& operator=(const LowNumbersTaken&) = delete;

 private:
  bool taken_[3] = {};
};

}  // namespace

struct DriverAnswers::Question : TimedThread::Shared {
  struct Device {
    bool has_bus_id, told;
    char bus_id[kBusIdBytes];
  };
  size_t count;
  bool runtime_answered;
  bool nvml_is_open, nvml_is_the_programs;
  Device devices[kMaxDevices];
  DriverFacts facts[kMaxDevices];
};

namespace {

using Question = DriverAnswers::Question;
using Stage = void (*)(Question&);

struct StageCall {
  Stage stage;
  Question& question;
};

void* run_stage(void* argument) {
  const HelperThreadScope thread("tensorscope-drv");
  auto& call = *static_cast<StageCall*>(argument);
  call.stage(call.question);
  return nullptr;
}

// The CUDA runtime's descriptors are the program's: a thread that has those calls it. This one waits; it is given up
// where that takes too long.
void on_programs_side(Question& question, Stage stage) {
  constexpr size_t kStackBytes = size_t{512} << 10;
  if (!has_private_descriptors()) return stage(question);
  StageCall call{stage, question};
  pthread_t thread;
  if (!start_helper_thread(kStackBytes, run_stage, &call, &thread, Descriptors::of_program)) return;
  pthread_join(thread, nullptr);
}

void find_bus_ids(Question& question) {
  const Runtime runtime;
  for (size_t i = 0; i < question.count; ++i) {
    Question::Device& device = question.devices[i];
    device.has_bus_id = runtime.bus_id(question.facts[i].device, device.bus_id);
    const bool asked = question.nvml_is_open && device.has_bus_id;
    question.nvml_is_the_programs = question.nvml_is_the_programs || (asked && g_nvml.is_started(device.bus_id));
  }
  question.runtime_answered = true;
}

void ask_nvml(Question& question) {
  const bool nvml = question.nvml_is_open && g_nvml.start();
  for (size_t i = 0; i < question.count; ++i) {
    Question::Device& device = question.devices[i];
    DriverFacts& facts = question.facts[i];
    if (!nvml) {
      add_detail(facts, g_nvml.trouble());
    } else if (!device.has_bus_id) {
      add_detail(facts, "the CUDA runtime does not report the device's PCI address");
    } else {
      device.told = g_nvml.look(device.bus_id, facts);
    }
  }
  if (nvml) g_nvml.stop();
}

void ask_runtime_for_the_rest(Question& question) {
  const Runtime runtime;
  for (size_t i = 0; i < question.count; ++i) {
    DriverFacts& facts = question.facts[i];
    if (!facts.name[0]) runtime.read_name(facts.device, facts);
    if (question.devices[i].told) continue;
    add_detail(facts, runtime.read_memory(facts.device, facts) ? "total and free are from cudaMemGetInfo"
                                                               : "cudaMemGetInfo gave no answer either");
  }
}

}  // namespace

constinit const TimedThread::Kind DriverAnswers::kKind = {"tensorscope-drv", answer, &g_asking};

void DriverAnswers::answer(TimedThread::Shared& shared) {
  auto& question = static_cast<Question&>(shared);
  question.nvml_is_open = g_nvml.open();
  on_programs_side(question, find_bus_ids);
  if (!question.runtime_answered) {
    for (size_t i = 0; i < question.count; ++i) {
      add_detail(question.facts[i], "no thread could be started to query the CUDA runtime");
    }
    return;
  }
  if (question.nvml_is_the_programs) {
    on_programs_side(question, ask_nvml);
  } else {
    const LowNumbersTaken taken;
    ask_nvml(question);
  }
  on_programs_side(question, ask_runtime_for_the_rest);
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
  question->count = count < kMaxDevices ? count : kMaxDevices;
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
