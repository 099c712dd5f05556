// SPDX-License-Identifier: Apache-2.0
#include "stacks/capture.h"

#include <atomic>

#include "stacks/thread_stack.h"
#include "support/clock.h"
#include "support/fresh_in_child.h"
#include "support/options.h"

namespace tensorscope::stacks {

namespace {

constinit StopSwitch g_stop;
struct Stops {
  std::atomic<uint64_t> times{0}, captures{0}, since_ns{0}, before_ns{0};
};
constinit Stops g_stops;
// A child of a process that is stopped is stopped from its first moment on.
FreshInChild g_fresh_stops{[] {
  make_anew(g_stops);
  if (!g_stop.is_off()) return;
  g_stops.times.store(1);
  g_stops.since_ns.store(monotonic_ns());
}};

bool stopped() { return __builtin_expect(g_stop.is_off(), false); }

[[gnu::noinline]] Stack nothing_recorded() {
  g_stops.captures.fetch_add(1, std::memory_order_relaxed);
  return {0, not_recorded_stack()};
}

// A call of capture_native() at one place: so it becomes a part of each capture.
[[gnu::always_inline]] inline Stack with_native(StackId python, uint64_t nbytes) {
  if (python != 0 && nbytes < options().native_stacks.from_bytes) return {0, python};
  return {capture_native(nullptr, python == 0 ? kNoActivation : last_activation()), python};
}

// Where the pair that came next the last time is not the present one. `python`, `number`, `activation`: of the present
// Python stack.
[[gnu::noinline]] Stack capture_another(ThreadStack& thread, StackId python, uint32_t number,
                                        const Activation& activation) {
  Stack stack{capture_native(nullptr, activation), python};
  if (const auto& next = thread.captured.next();
      stack.native != 0 && next.native_node == stack.native && next.python == number && next.python_node == python) {
    stack.note = &thread.captured.take_next();  // every frame of it was compared
    return stack;
  }
  const uint32_t native = thread.walks.last(stack.native);
  if (stack.native != 0 && native != kNoNumber && (number != kNoNumber || python == 0)) {
    stack.note = &thread.captured.follow({number, native, python, stack.native});
  }
  return stack;
}

[[gnu::noinline]] Stack capture_another(ThreadStack& thread) {
  const StackId python = capture_python();
  return capture_another(thread, python, number_of_python(python), python == 0 ? kNoActivation : last_activation());
}

// Nearly every capture of a loop ends here: torch runs so much code between two of them that each cache line of these
// instructions is fetched anew, so there are few.
Stack capture_with_native(ThreadStack& thread, HookFrame hook) {
  const RememberedCaptures::Pair& next = thread.captured.next();
  if (__builtin_expect(next.native_node == 0 || !python_is_at(next.python, next.python_node), false))
    return capture_another(thread);
  if (__builtin_expect(!native_is_at(thread, next.native, next.native_node, hook), false))
    return capture_another(thread, next.python_node, next.python, activation_of_python(next.python));
  uint32_t& note = thread.captured.take_next();
  const RememberedCaptures::Pair& after = thread.captured.next();
  thread.walks.prefetch(after.native);
  prefetch_python(after.python);
  return {next.native_node, next.python_node, &note};
}

}  // namespace

Stack capture_in_any_case() { return with_native(capture_python(), kWithNative); }

Stack capture(uint64_t nbytes, HookFrame hook) {
  if (stopped()) return nothing_recorded();
  ThreadStack* const thread = ThreadStack::known();
  if (__builtin_expect(thread == nullptr || nbytes < options().native_stacks.from_bytes, false))
    return with_native(capture_python(), nbytes);
  return capture_with_native(*thread, hook);
}

bool python_is_still(StackId python) {
  const ThreadStack* const thread = ThreadStack::known();
  if (__builtin_expect(thread == nullptr || stopped(), false)) return false;
  const RememberedCaptures::Pair& last = thread->captured.last();
  return last.native_node != 0 && last.python_node == python && python_is_at(last.python, python);
}

StackId capture_python_part() { return stopped() ? not_recorded_stack() : capture_python(); }
Stack capture_native_part(StackId python, uint64_t nbytes) {
  return stopped() ? nothing_recorded() : with_native(python, nbytes);
}

void stop_capturing(StoppedBy by) {
  if (!g_stop.stop(by)) return;
  g_stops.since_ns.store(monotonic_ns());
  g_stops.times.fetch_add(1);
}

void start_capturing(StoppedBy by) {
  if (!g_stop.start(by)) return;
  g_stops.before_ns.fetch_add(monotonic_ns() - g_stops.since_ns.load());
}

NotRecorded not_recorded() {
  NotRecorded out{g_stops.times.load(), g_stops.captures.load(std::memory_order_relaxed), g_stops.before_ns.load(),
                  g_stop.is_off()};
  if (out.now) out.ns += monotonic_ns() - g_stops.since_ns.load();
  return out;
}

void after_fork_in_child() { native_after_fork_in_child(); }

}  // namespace tensorscope::stacks
