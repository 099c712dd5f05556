// SPDX-License-Identifier: Apache-2.0
#include "torch/unrecorded.h"

#include "support/loaded_object.h"

namespace tensorscope::torch {

constinit thread_local uint32_t t_unrecorded = 0;

namespace {

// Both are of this thread alone.
struct Switch {
  bool (*is_on)() = nullptr;
  void (*set)(bool) = nullptr;
};

const Switch& recording_switch() {
  static const Switch found = [] {
    Switch look;
    const LoadedObject torch = find_object("libtorch_cpu.so");
    if (!torch) return look;
    look.is_on = reinterpret_cast<bool (*)()>(torch.find("_ZN2at23isRecordFunctionEnabledEv"));
    look.set = reinterpret_cast<void (*)(bool)>(torch.find("_ZN2at20enableRecordFunctionEb"));
    return look;
  }();
  return found;
}

}  // namespace

Unrecorded::Unrecorded() {
  ++t_unrecorded;
  const Switch& recording = recording_switch();
  recorded_before_ = recording.is_on && recording.set && recording.is_on();
  if (recorded_before_) recording.set(false);
}

Unrecorded::~Unrecorded() {
  if (recorded_before_) recording_switch().set(true);
  --t_unrecorded;
}

}  // namespace tensorscope::torch
