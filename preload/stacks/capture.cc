#include "stacks/capture.h"

#include <atomic>

#include "support/clock.h"
#include "support/options.h"

namespace tensorscope::stacks {

namespace {

constinit std::atomic<bool> g_stopped{false};
constinit std::atomic<uint64_t> g_times{0}, g_captures{0}, g_since_ns{0}, g_before_ns{0};

bool stopped() { return __builtin_expect(g_stopped.load(std::memory_order_relaxed), false); }

[[gnu::noinline]] Stack nothing_recorded() {
  g_captures.fetch_add(1, std::memory_order_relaxed);
  return {0, not_recorded_stack()};
}

// A call of capture_native() at one place: so it becomes a part of each capture.
[[gnu::always_inline]] inline Stack with_native(StackId python, uint64_t nbytes) {
  if (python != 0 && nbytes < options().native_stacks.from_bytes) return {0, python};
  return {capture_native(nullptr, python == 0 ? kNoActivation : last_activation()), python};
}

}  // namespace

Stack capture_in_any_case() { return with_native(capture_python(), kWithNative); }

Stack capture(uint64_t nbytes) { return stopped() ? nothing_recorded() : with_native(capture_python(), nbytes); }

StackId capture_python_part() { return stopped() ? not_recorded_stack() : capture_python(); }
Stack capture_native_part(StackId python, uint64_t nbytes) {
  return stopped() ? nothing_recorded() : with_native(python, nbytes);
}

void stop_capturing() {
  if (g_stopped.exchange(true)) return;
  g_since_ns.store(monotonic_ns());
  g_times.fetch_add(1);
}

void start_capturing() {
  if (!g_stopped.exchange(false)) return;
  g_before_ns.fetch_add(monotonic_ns() - g_since_ns.load());
}

NotRecorded not_recorded() {
  NotRecorded out{g_times.load(), g_captures.load(std::memory_order_relaxed), g_before_ns.load(), g_stopped.load()};
  if (out.now) out.ns += monotonic_ns() - g_since_ns.load();
  return out;
}

void after_fork_in_child() {
  native_after_fork_in_child();
  python_after_fork_in_child();
}

}  // namespace tensorscope::stacks
