// SPDX-License-Identifier: Apache-2.0
#include "hooks/self_check.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hooks/process/program_signal.h"
#include "hooks/torch/current_node.h"
#include "hooks/torch_libraries.h"
#include "support/arena.h"
#include "support/coverage.h"
#include "support/options.h"

namespace tensorscope::hooks {

namespace {

constexpr size_t kEventCount = size_t(HookEvent::count_);
constexpr const char* kDeviceLibraries[] = {"libc10_cuda.so", "libc10_hip.so"};
constexpr const char* kRuntimeFunctions[] = {
#define X(name, why) #name,
    TENSORSCOPE_CUDA_RUNTIME_FUNCTIONS(X)
#undef X
};
constexpr size_t kRuntimeFunctionCount = sizeof(kRuntimeFunctions) / sizeof(*kRuntimeFunctions);

// What was found about one library, or about all of them together.
struct CheckResult {
  bool defined[kEventCount] = {};
  unsigned destructors = 0;  // of one library
  Slots slots[kEventCount] = {};
  Slots runtime;  // the allocation calls of the CUDA runtime

  void add(const CheckResult& other) {
    for (size_t i = 0; i < kEventCount; ++i) {
      defined[i] |= other.defined[i];
      slots[i].ours += other.slots[i].ours;
      slots[i].foreign += other.slots[i].foreign;
      slots[i].unbound += other.slots[i].unbound;
    }
    runtime.ours += other.runtime.ours;
    runtime.foreign += other.runtime.foreign;
    runtime.unbound += other.runtime.unbound;
  }
};

struct Library {
  uint64_t begin = 0;
  std::atomic<bool> settled{false};  // every slot is bound
  CheckResult finding;
};
constexpr size_t kMaxLibraries = 32;
Library g_libraries[kMaxLibraries];  // activation, then the collector alone
constinit Arena g_texts{Arena::Limit::none};

struct Check {
  const void* ours[kHookCount] = {};
  const void* our_runtime[kRuntimeFunctionCount] = {};
  CheckResult all;
  CheckResult device;
  bool device_loaded = false;
  const void* our_throw = nullptr;
  bool throws_elsewhere = false;  // a device library's exceptions do not come to us
  unsigned copies = 0;            // of libc10
  bool plain_deletion_seen = true;
  char first_trouble[160] = {};  // a library with slots that are not ours
};

constexpr unsigned kDestructorCount =
    unsigned(std::count_if(std::begin(kHooks), std::end(kHooks),
                           [](const HookInfo& hook) { return hook.event == HookEvent::tensor_destroyed; }));

bool begins_with_any(const LoadedObject& object, const auto& prefixes) {
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](const char* prefix) { return object.file_name_begins_with(prefix); });
}

const CheckResult& look_at(const LoadedObject& object, const Check& check) {
  Library* const end = g_libraries + kMaxLibraries;
  Library* library = std::find_if(
      g_libraries, end, [&](const Library& known) { return known.begin == object.begin || known.begin == 0; });
  if (library == end) library = end - 1;
  if (library->begin == object.begin && library->settled.load(std::memory_order_acquire)) return library->finding;
  // A forked child checks a library again whose check another thread was in the middle of.
  library->settled.store(false, std::memory_order_release);
  library->begin = object.begin;
  library->finding = {};
  bool settled = true;
  for (size_t i = 0; i < kHookCount; ++i) {
    const size_t event = size_t(kHooks[i].event);
    const Slots slots = check_slots(object, kHooks[i].symbol, check.ours[i]);
    CheckResult one;
    one.defined[event] = object.find(kHooks[i].symbol) != nullptr;
    one.slots[event] = slots;
    library->finding.add(one);
    library->finding.destructors += one.defined[event] && kHooks[i].event == HookEvent::tensor_destroyed;
    settled &= slots.unbound == 0;
  }
  for (size_t i = 0; i < kRuntimeFunctionCount; ++i) {
    CheckResult one;
    one.runtime = check_slots(object, kRuntimeFunctions[i], check.our_runtime[i]);
    library->finding.add(one);
    settled &= one.runtime.unbound == 0;
  }
  library->settled.store(settled, std::memory_order_release);
  return library->finding;
}

void check_object(const LoadedObject& object, Check& check) {
  if (!is_torch_library(object)) return;
  const CheckResult& finding = look_at(object, check);
  check.all.add(finding);
  if (begins_with_any(object, kDeviceLibraries)) {
    check.device_loaded = true;
    check.throws_elsewhere |= check_slots(object, "__cxa_throw", check.our_throw).foreign > 0;
    check.device.add(finding);
  }
  // Plain tensors are deleted through the table of virtual functions that libc10 holds.
  const size_t destroyed = size_t(HookEvent::tensor_destroyed);
  if (finding.defined[destroyed]) {
    ++check.copies;
    const Slots& slots = finding.slots[destroyed];
    check.plain_deletion_seen &= slots.ours > 0 && slots.foreign == 0 && finding.destructors == kDestructorCount;
  }
  const bool foreign =
      std::any_of(finding.slots, finding.slots + kEventCount, [](const Slots& slots) { return slots.foreign > 0; });
  if (foreign && !check.first_trouble[0]) {
    const char* slash = strrchr(object.path, '/');
    snprintf(check.first_trouble, sizeof check.first_trouble, "%s", slash ? slash + 1 : object.path);
  }
}

void record(Subject subject, Seen seen, const char* detail) {
  const CoverageEntry& entry = coverage(subject);
  const char* present = entry.detail.load(std::memory_order_acquire);
  if (entry.seen.load(std::memory_order_acquire) == seen && present && strcmp(present, detail) == 0) return;
  const char* kept = *detail ? g_texts.copy(detail) : "";
  set_coverage(subject, seen, kept ? kept : "no memory for the reason");
}

// One sentence about the first event of `events` that does not arrive, and how much is left of the subject.
void judge(Subject subject, const Check& check, const CheckResult& finding, std::initializer_list<HookEvent> events) {
  char detail[256] = "";
  size_t lost = 0;
  for (const HookEvent event : events) {
    const Slots& slots = finding.slots[size_t(event)];
    const char* reason = nullptr;
    if (!check.all.defined[size_t(event)]) {
      reason = "this torch has no such function";
    } else if (slots.ours + slots.foreign + slots.unbound == 0) {
      reason = "torch calls it directly";
    } else if (slots.foreign > 0) {
      reason = "another definition precedes tensorscope's";
    }
    if (!reason) continue;
    if (lost++ == 0) snprintf(detail, sizeof detail, "%s: %s", event_name(event), reason);
  }
  if (lost == 0) {
    if (check.copies > 1 && subject != Subject::cuda_memory) {
      snprintf(detail, sizeof detail, "%u copies of libc10 are loaded; all calls go to the first one", check.copies);
      return record(subject, Seen::partly, detail);
    }
    return record(subject, Seen::yes, "");
  }
  const size_t used = strlen(detail);
  if (check.first_trouble[0]) snprintf(detail + used, sizeof detail - used, " (in %s)", check.first_trouble);
  record(subject, lost == events.size() ? Seen::no : Seen::partly, detail);
}

// Of torch's own libraries; what others call through the loader arrives as well.
void judge_runtime(const Check& check) {
  if (!check.device_loaded) return record(Subject::cuda_runtime, Seen::not_applicable, "CUDA is not loaded");
  const Slots& slots = check.device.runtime;
  if (!options().cuda_runtime) {
    record(Subject::cuda_runtime, Seen::no, "switched off by TENSORSCOPE_CUDA_RUNTIME");
  } else if (slots.ours + slots.foreign + slots.unbound == 0) {
    record(Subject::cuda_runtime, Seen::no, "torch's libraries call it directly (is it linked statically?)");
  } else if (slots.foreign > 0) {
    record(Subject::cuda_runtime, slots.ours > 0 ? Seen::partly : Seen::no,
           "another definition precedes tensorscope's in torch's libraries");
  } else {
    record(Subject::cuda_runtime, Seen::yes, "");
  }
}

// Why torch's allocator reports nothing; null: it does.
const char* unreported_backend() {
  if (getenv("PYTORCH_NO_CUDA_MEMORY_CACHING")) {
    return "PYTORCH_NO_CUDA_MEMORY_CACHING is set: torch reports nothing without its cache";
  }
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"}) {
    const char* configuration = getenv(name);
    if (configuration && strstr(configuration, "cudaMallocAsync")) {
      return "the cudaMallocAsync backend does not report its allocations";
    }
  }
  return nullptr;
}

void judge_cuda(const Check& check) {
  if (!check.device_loaded) return record(Subject::cuda_memory, Seen::not_applicable, "CUDA is not loaded");
  if (const char* unreported = unreported_backend()) {
    // Its calls of the runtime say it all.
    const bool seen = coverage(Subject::cuda_runtime).seen.load(std::memory_order_acquire) == Seen::yes;
    return record(Subject::cuda_memory, seen ? Seen::yes : Seen::no, seen ? "" : unreported);
  }
  judge(Subject::cuda_memory, check, check.device, {HookEvent::memory_reported});
}

void judge_autograd(const Check& check) {
  if (!find_object("libtorch_cpu.so"))
    return record(Subject::autograd, Seen::not_applicable, "libtorch_cpu is not loaded");
  judge(Subject::autograd, check, check.all, {HookEvent::gradient_edge_set});
  if (coverage(Subject::autograd).seen.load(std::memory_order_acquire) != Seen::yes) return;
  start_current_node();
  if (current_node_state() == CurrentNode::unknown) {
    record(Subject::autograd, Seen::partly,
           "this torch does not report which node runs: backward memory has no forward stack");
  } else if (!check.all.defined[size_t(HookEvent::node_destroyed)]) {
    record(Subject::autograd, Seen::partly, "this torch does not report when a node is freed");
  }
}

void judge_out_of_memory(const Check& check) {
  constexpr Subject kSubject = Subject::out_of_memory;
  if (options().oom_dumps == 0) return record(kSubject, Seen::no, "switched off by TENSORSCOPE_OOM_DUMPS");
  judge(kSubject, check, check.all, {HookEvent::cpu_out_of_memory});
  if (check.throws_elsewhere) {
    return record(kSubject, Seen::partly,
                  "failures on a device: another definition of __cxa_throw precedes tensorscope's");
  }
  if (coverage(kSubject).seen.load(std::memory_order_acquire) != Seen::yes) return;
  if (coverage(kSubject).missed.load(std::memory_order_relaxed) > 0) {
    record(kSubject, Seen::yes, "some failures have no dump (TENSORSCOPE_OOM_DUMPS, TENSORSCOPE_OOM_INTERVAL_MS)");
  }
}

void judge_signal() {
  if (coverage(Subject::signal_trigger).seen.load(std::memory_order_acquire) != Seen::yes) return;
  if (options().signal == 0 || signal_is_ours()) return;
  record(Subject::signal_trigger, Seen::partly, "the program replaced the signal handler by a system call");
}

void examine(Check& check) {
  const LoadedObject own = own_object();
  for (size_t i = 0; i < kHookCount; ++i) check.ours[i] = own.find(kHooks[i].symbol);
  check.our_throw = own.find("__cxa_throw");
  for (size_t i = 0; i < kRuntimeFunctionCount; ++i) check.our_runtime[i] = own.find(kRuntimeFunctions[i]);
  visit_objects([&](const LoadedObject& object) {
    check_object(object, check);
    return true;
  });
}

bool is_destruction_seen(const Check& check) { return check.copies > 0 && check.plain_deletion_seen; }

// Without their ends tensors are not followed at all: the table would hold freed memory.
void judge_tensors(const Check& check) {
  if (!is_destruction_seen(check)) {
    return record(Subject::tensors, Seen::no, "this torch destroys tensors without a function call that can be hooked");
  }
  judge(Subject::tensors, check, check.all,
        {HookEvent::tensor_made_with_storage, HookEvent::tensor_made_as_view, HookEvent::tensor_made_bare,
         HookEvent::tensor_made_in_full, HookEvent::tensor_destroyed, HookEvent::tensor_released});
}

}  // namespace

bool run_self_check() {
  Check check;
  examine(check);
  judge_tensors(check);
  judge(Subject::cpu_memory, check, check.all, {HookEvent::cpu_allocated, HookEvent::cpu_freed});
  judge(Subject::mapped_memory, check, check.all, {HookEvent::memory_reported});
  judge_runtime(check);
  judge_cuda(check);
  judge_autograd(check);
  judge_out_of_memory(check);
  judge_signal();
  return is_destruction_seen(check);
}

bool destruction_is_seen() {
  Check check;
  examine(check);
  return is_destruction_seen(check);
}

}  // namespace tensorscope::hooks
