// SPDX-License-Identifier: Apache-2.0
// What the driver reports about CUDA devices, asked on a thread of its own with a limit on the time: a driver that
// hangs must not hang the dump.
//
// NVML (libnvidia-ml.so.1) is opened at run time and comes first: it needs no context and knows other processes. A
// device is matched by its PCI address, which the CUDA runtime reports, so that CUDA_VISIBLE_DEVICES changes nothing.
// Where NVML is missing, or reports a whole device that is partitioned (MIG), the runtime's cudaMemGetInfo is called.
// NVML's descriptors are in the collector's table, from its start to its stop; the runtime's are the program's, and a
// thread of the program's side calls it (support/programs_side.h). So it is with NVML if the program has started it:
// then what it has open is the program's. Only devices on which this process has allocated are queried: they have
// a context already.
//
// Context: collector. No malloc of ours: the program may be out of memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/driver_facts.h"
#include "support/timed_thread.h"

namespace tensorscope::devices {

class DriverAnswers {
 public:
  static constexpr size_t kMaxDevices = 64;
  static constexpr unsigned kPatienceMs = 2000;

  // Starts to ask; once an object.
  void ask(const int8_t* devices, size_t count);
  // Waits until everything is answered, at most until kPatienceMs after ask().
  void wait();
  // After wait(). Null: there is no answer; why() says so.
  const DriverFacts* of(int8_t device) const;
  const char* why() const { return why_; }

  struct Question;

 private:
  static void answer(TimedThread::Shared& question);
  static const TimedThread::Kind kKind;
  TimedThread thread_;
  bool answered_ = false;
  const char* why_ = "";
};

}  // namespace tensorscope::devices
