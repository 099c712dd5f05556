// SPDX-License-Identifier: Apache-2.0
#include "support/coverage.h"

#include <string.h>

#include "support/fresh_in_child.h"
#include "support/log.h"

namespace tensorscope {

namespace {
CoverageEntry g_entries[size_t(Subject::count_)];

// What is seen, and why not, is so of the code that a child shares with its parent. What was missed is the parent's.
FreshInChild g_fresh_missed{[] {
  for (CoverageEntry& entry : g_entries) entry.missed.store(0, std::memory_order_relaxed);
}};

void log_change(Subject subject, Seen seen, const char* detail) {
  static constexpr const char* kWords[] = {"recorded", "partly recorded", "not recorded", "not applicable"};
  const bool bad = seen == Seen::partly || seen == Seen::no;
  log(bad ? LogLevel::warning : LogLevel::info, "{}: {}{}{}", subject_name(subject), kWords[size_t(seen)],
      detail && *detail != 0 ? ": " : "", detail ? detail : "");
}
}  // namespace

void set_coverage(Subject subject, Seen seen, const char* detail) {
  CoverageEntry& entry = coverage(subject);
  const char* const before = entry.detail.exchange(detail, std::memory_order_acq_rel);
  const bool same_detail = strcmp(before ? before : "", detail ? detail : "") == 0;
  if (entry.seen.exchange(seen, std::memory_order_acq_rel) != seen || !same_detail) log_change(subject, seen, detail);
}

void count_missed(Subject subject, uint64_t events) {
  coverage(subject).missed.fetch_add(events, std::memory_order_relaxed);
}

CoverageEntry& coverage(Subject subject) { return g_entries[size_t(subject)]; }

const char* subject_name(Subject subject) {
  switch (subject) {
    case Subject::tensors:
      return "tensors";
    case Subject::cpu_memory:
      return "CPU memory";
    case Subject::mapped_memory:
      return "mapped memory";
    case Subject::cuda_memory:
      return "CUDA memory";
    case Subject::cuda_runtime:
      return "CUDA runtime calls";
    case Subject::device_memory:
      return "device memory";
    case Subject::metadata:
      return "tensor metadata";
    case Subject::autograd:
      return "autograd";
    case Subject::autograd_graph:
      return "autograd graph";
    case Subject::driver_memory:
      return "driver memory";
    case Subject::launches:
      return "kernels and copies";
    case Subject::native_stacks:
      return "native stacks";
    case Subject::python_stacks:
      return "Python stacks";
    case Subject::source_lines:
      return "source lines";
    case Subject::module_paths:
      return "module paths";
    case Subject::module_outputs:
      return "module outputs";
    case Subject::signal_trigger:
      return "signal dumps";
    case Subject::exit_trigger:
      return "exit dumps";
    case Subject::out_of_memory:
      return "out of memory";
    case Subject::fork:
      return "fork";
    case Subject::low_memory:
      return "memory limits";
    case Subject::descriptors:
      return "own descriptors";
    case Subject::find_nan:
      return "NaN search";
    case Subject::count_:
      return "";
  }
  return "";
}

}  // namespace tensorscope
