// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/native_stack.h"

#include <stdio.h>

#include <algorithm>

#include "stacks/native/eh_frame.h"
#include "stacks/native/frame_walk.h"
#include "stacks/native/libunwind_loader.h"
#include "stacks/native/native_trie.h"
#include "stacks/native/rule_table.h"
#include "stacks/own_frames.h"
#include "stacks/thread_stack.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/option_values.h"
#include "support/options.h"
#include "support/unload_epoch_cache.h"

namespace tensorscope::stacks {

namespace {

// Every so many captures of a thread one is compared with libunwind's; prime, so that it falls on every place of a
// loop.
constexpr uint32_t kCheckEvery = 4093;

constinit Libunwind g_libunwind;
constinit NativeTrie g_native_trie;
constinit RuleTable g_rules;
constinit CodeRange g_own_code;
constinit std::atomic<bool> g_started{false};
constinit std::atomic<bool> g_walks{false};       // by our own rules; false: by libunwind alone
constinit std::atomic<uint32_t> g_generation{0};  // a thread's cache that is of another one is void
constinit std::atomic<uint64_t> g_unloads{0};     // unload_generation() that the rules are of
constinit std::atomic<bool> g_cut_reported{false};
struct UnwindCounts {
  std::atomic<uint64_t> by_libunwind{0}, compared{0}, disagreed{0}, outer_differed{0};
};
constinit UnwindCounts g_unwound;
FreshInChild g_fresh_unwound{g_unwound};
constinit InterpreterCode g_interpreter_code;
constinit std::atomic<const InterpreterCode*> g_trusted_code{nullptr};  // null: every frame is compared

constinit char g_left_out[80];  // why some stacks are not recorded; empty: all are

void report_cut() {
  if (g_cut_reported.exchange(true, std::memory_order_relaxed)) return;
  static char both[160];
  if (g_left_out[0] != 0) {
    snprintf(both, sizeof both, "%s; stacks deeper than 1024 frames lack their outer frames", g_left_out);
    return set_coverage(Subject::native_stacks, Seen::partly, both);
  }
  if (coverage(Subject::native_stacks).seen.load(std::memory_order_acquire) != Seen::yes) return;
  set_coverage(Subject::native_stacks, Seen::partly, "stacks deeper than 1024 frames lack their outer frames");
}

// Where nothing is missing.
void say_how(const char* text) {
  if (coverage(Subject::native_stacks).seen.load(std::memory_order_acquire) != Seen::yes) return;
  set_coverage(Subject::native_stacks, Seen::yes, text);
}

void say_which(const NativeStacks& wanted) {
  char size[kOptionTextBytes];
  snprintf(g_left_out, sizeof g_left_out, "only of blocks from %s on, and where no Python runs (TENSORSCOPE_NATIVE)",
           format_option_value(wanted, size));
  set_coverage(Subject::native_stacks, Seen::partly, g_left_out);
}

[[gnu::noinline]] StackId missed() {
  count_missed(Subject::native_stacks);
  return 0;
}

// The first frame outside this library. Its own functions all keep RBP (-fno-omit-frame-pointer), so their frames are a
// linked list. False: the list leaves the stack.
bool find_innermost(const ThreadStack& stack, const void* frame_address, FrameState& state) {
  auto frame = reinterpret_cast<uint64_t>(frame_address);
  for (int i = 0; i < ThreadStack::kMaxOwnFrames && stack.holds_words(frame, 2); ++i) {
    const auto* words = reinterpret_cast<const volatile uint64_t*>(frame);
    const uint64_t bp = words[0], ip = words[1];
    if (!g_own_code.holds(ip)) {
      state = {ip, frame + 16, bp};
      return true;
    }
    if (bp <= frame || (bp & 7) != 0) return false;
    frame = bp;
  }
  return false;
}

// Where the stack that the caller runs on ends; 0: another stack than the thread's own (a fiber's, a signal handler's).
uint64_t end_of_present_stack(const ThreadStack& stack) {
  return stack.holds(reinterpret_cast<uint64_t>(__builtin_frame_address(0))) ? stack.high : 0;
}

// Whether libunwind sees the frames of the path.
bool libunwind_agrees(ThreadStack& stack, const Walk& walk) {
  const int size = int(sizeof stack.addresses / sizeof stack.addresses[0]);
  g_unwound.compared.fetch_add(1, std::memory_order_relaxed);
  const int count = g_libunwind.backtrace(stack.addresses, size, end_of_present_stack(stack));
  const auto address = [&](int i) { return reinterpret_cast<uint64_t>(stack.addresses[i]); };
  int first = 0;
  while (first < count && address(first) != path_address(stack, 0)) ++first;
  if (count - first < walk.frames || (walk.end != Walk::cut && count - first != walk.frames)) return false;
  for (int i = 0; i < walk.frames; ++i) {
    if (address(first + i) != path_address(stack, i)) return false;
  }
  return true;
}

// Walks and brings the cache up to date.
Walk walk_and_remember(ThreadStack& stack, const FrameState& innermost, uint32_t trusted = 0) {
  const InterpreterCode* const interpreter = g_trusted_code.load(std::memory_order_acquire);
  for (;; trusted = 0) {
    const Walk walk = walk_frames(stack, g_rules, innermost, trusted);
    if (walk.changed_frames == 0 || walk.end != Walk::complete) return walk;
    if (give_nodes(stack, walk, g_native_trie, interpreter)) return walk;
  }
}

void forget_rules(ThreadStack* stack) {
  g_rules.clear();
  g_libunwind.flush();
  const uint32_t generation = g_generation.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (stack != nullptr) {
    stack->forget_frames();
    stack->generation = generation;
  }
}

// Forgets everything where an object has been unloaded since the last call. The code that another one brings to its
// addresses hardly ever has its call instructions at the same places: the first capture through it learns a rule, and
// asks here. False: nothing was forgotten.
bool forget_unloaded(ThreadStack* stack) {
  const uint64_t generation = unload_generation();
  if (g_unloads.exchange(generation, std::memory_order_acq_rel) == generation) return false;
  forget_rules(stack);
  return true;
}

// Compares the walk with libunwind's. An unloaded library's rules may be in use for another that came to its addresses:
// where the two differ, everything is forgotten once and walked anew; then libunwind is believed. What both can only
// guess is not compared. False: the walk is not good.
bool check(ThreadStack& stack, const FrameState& innermost, Walk& walk) {
  if (!g_libunwind.usable() || is_guessed(stack, walk) || libunwind_agrees(stack, walk)) return true;
  g_unwound.disagreed.fetch_add(1, std::memory_order_relaxed);
  forget_rules(&stack);
  walk = walk_and_remember(stack, innermost);
  if (walk.end == Walk::gave_up) return false;
  if (libunwind_agrees(stack, walk)) return true;
  g_walks.store(false, std::memory_order_relaxed);
  set_coverage(Subject::native_stacks, Seen::yes,
               "libunwind only: the faster unwinder disagreed with it and was switched off");
  return false;
}

// A stack that is cut has no records: its nodes hang off another root.
StackId intern_cut(ThreadStack& stack, const Walk& walk, int leaf) {
  report_cut();
  StackId id = 0;
  for (int i = walk.frames - 1; i >= leaf; --i) {
    id = g_native_trie.child(id, path_address(stack, i));
    if (id == 0) break;
  }
  return id;
}

// After a walk through all frames. `expected`: the activation was known before it.
void remember_outer(ThreadStack& stack, const Walk& walk, const Activation& activation, ThreadStack::Outer& outer,
                    bool expected) {
  if (expected && stack.cache[outer.record].tag != outer.tag) {
    g_unwound.outer_differed.fetch_add(1, std::memory_order_relaxed);
    g_trusted_code.store(nullptr, std::memory_order_release);
    g_generation.fetch_add(1, std::memory_order_acq_rel);  // what ends with a trusted record is void
    return say_how("cached unwind rules, checked against libunwind; the interpreter's own frames differed once");
  }
  outer = {};
  for (int i = 0; i + 1 < walk.frames; ++i) {
    if (!stack.cache[stack.path[i]].evaluates) continue;
    const uint32_t caller = stack.path[i + 1];
    outer = {activation, caller, stack.cache[caller].tag};
    return;
  }
}

// What is known of the frames further out than the activation.
struct Surroundings {
  ThreadStack::Outer& outer;
  bool trusts;    // outer records, where they are the expected ones
  bool expected;  // `outer` is the activation's

  Surroundings(ThreadStack& stack, const Activation& activation)
      : outer(stack.outer_of(activation)),
        trusts(activation && g_trusted_code.load(std::memory_order_relaxed) != nullptr),
        expected(trusts && outer.activation == activation && stack.cache[outer.record].tag == outer.tag) {}
  // Out to the trusted record or, where nothing is trusted, to the last frame.
  RememberedWalks::Outside outside() const {
    return expected ? RememberedWalks::Outside{outer.record, outer.tag} : RememberedWalks::Outside();
  }
  bool can_be_remembered() const { return expected || !trusts; }
};

uint32_t next_multiple(uint32_t number, uint32_t of) { return number + of - number % of; }

// False: this stack is not for the rules.
[[gnu::noinline]] bool capture_by_walking(ThreadStack& stack, const FrameState& innermost, const void* until,
                                          const Activation& activation, StackId& id) {
  bool wants_check = stack.captures % kCheckEvery == 0;
  const bool compare_all = wants_check || stack.captures % kVerifyEvery == 0;
  stack.compare_at = std::min(next_multiple(stack.captures, kCheckEvery), next_multiple(stack.captures, kVerifyEvery));
  Surroundings around(stack, activation);
  const RememberedWalks::Outside outside = around.outside();
  const bool may_be_remembered = around.can_be_remembered() && !compare_all && until == nullptr;
  stack.learnt = false;
  Walk walk = walk_and_remember(stack, innermost, around.expected && !compare_all ? around.outer.record : 0);
  if (__builtin_expect(stack.learnt, false)) {
    wants_check = true;
    const bool forgotten = forget_unloaded(&stack);
    around.expected = around.expected && !forgotten;
    if (forgotten || walk.trusted) walk = walk_and_remember(stack, innermost);
  }
  if (__builtin_expect(walk.end == Walk::gave_up, false)) return false;
  if (__builtin_expect(wants_check, false) && !check(stack, innermost, walk)) return false;
  if (around.trusts && !walk.trusted && walk.end == Walk::complete) {
    remember_outer(stack, walk, activation, around.outer, around.expected);
  }
  int leaf = 0;
  if (until != nullptr && innermost.ip != reinterpret_cast<uint64_t>(until)) {
    for (int i = 0; i < walk.frames && i < ThreadStack::kMaxOwnFrames; ++i) {
      if (path_address(stack, i) != reinterpret_cast<uint64_t>(until)) continue;
      leaf = i;
      break;
    }
  }
  if (may_be_remembered && walk.trusted == around.expected && walk.end == Walk::complete)
    stack.walks.remember(stack, walk, innermost, outside);
  id = walk.end == Walk::cut ? intern_cut(stack, walk, leaf) : stack.cache[stack.path[leaf]].node();
  return true;
}

[[gnu::noinline]] void forget_older_rules(ThreadStack& stack, uint32_t generation) {
  stack.forget_frames();
  stack.generation = generation;
}

// Likewise. Nearly every capture of a loop ends here: torch runs so much code between two of them that each cache line
// of these instructions is fetched anew, so there are few.
bool capture_by_rules(ThreadStack& stack, const void* frame_address, const void* until, const Activation& activation,
                      StackId& id) {
  FrameState innermost;
  if (__builtin_expect(!find_innermost(stack, frame_address, innermost), false)) return false;
  if (const uint32_t generation = g_generation.load(std::memory_order_acquire);
      __builtin_expect(stack.generation != generation, false)) {
    forget_older_rules(stack, generation);
  }
  const Surroundings around(stack, activation);
  const bool looks = ++stack.captures != stack.compare_at && around.can_be_remembered() && until == nullptr;
  if (__builtin_expect(looks, true)) {
    id = stack.walks.find(innermost, stack.depth_words(innermost.sp), around.outside());
    if (__builtin_expect(id != 0, true)) return true;
  }
  return capture_by_walking(stack, innermost, until, activation, id);
}

// Index of the first of libunwind's frames to keep.
int first_kept_frame(void* const* addresses, int count, const void* caller, const void* until) {
  if (until != nullptr) {
    for (int i = 0; i < count && i < ThreadStack::kMaxOwnFrames; ++i) {
      if (addresses[i] == until) return i;
    }
  }
  int i = 0;
  while (i < count && addresses[i] != caller) ++i;
  while (i < count && g_own_code.holds(reinterpret_cast<uint64_t>(addresses[i]))) ++i;
  return i;
}

__attribute__((noinline)) StackId capture_by_libunwind(ThreadStack& stack, const void* caller, const void* until) {
  g_unwound.by_libunwind.fetch_add(1, std::memory_order_relaxed);
  const int size = int(sizeof stack.addresses / sizeof stack.addresses[0]);
  const int count = g_libunwind.backtrace(stack.addresses, size, end_of_present_stack(stack));
  const int first = first_kept_frame(stack.addresses, count, caller, until);
  int end = count;
  if (count - first > ThreadStack::kMaxFrames || count == size) {
    end = count - first > ThreadStack::kMaxFrames ? first + ThreadStack::kMaxFrames : count;
    report_cut();
  }
  StackId id = 0;
  for (int i = end - 1; i >= first; --i) {
    id = g_native_trie.child(id, reinterpret_cast<uint64_t>(stack.addresses[i]));
    if (id == 0) break;
  }
  return id == 0 ? missed() : id;
}

}  // namespace

void start_native() {
  if (!options().native_stacks.on) {
    return set_coverage(Subject::native_stacks, Seen::no, "switched off (TENSORSCOPE_NATIVE)");
  }
  start_eh_frame();
  if (const Status opened = g_libunwind.open(); !opened) {
    return set_coverage(Subject::native_stacks, Seen::no, opened.why());
  }
  if (!ThreadStack::start()) {
    return set_coverage(Subject::native_stacks, Seen::no, "no thread-specific data key is left");
  }
  g_own_code = find_own_code();
  g_unloads.store(unload_generation(), std::memory_order_relaxed);
  g_walks.store(true, std::memory_order_relaxed);
  set_coverage(Subject::native_stacks, Seen::yes, "cached unwind rules, checked against libunwind");
  if (options().native_stacks.from_bytes != 0) say_which(options().native_stacks);
  g_started.store(true, std::memory_order_release);
}

StackId capture_native(const void* until, const Activation& activation) {
  if (!g_started.load(std::memory_order_acquire)) return 0;
  ThreadStack* stack = ThreadStack::current();
  if (__builtin_expect(stack == nullptr, false)) return missed();
  if (__builtin_expect(g_walks.load(std::memory_order_relaxed), true)) {
    StackId id = 0;
    if (capture_by_rules(*stack, __builtin_frame_address(0), until, activation, id)) return id != 0 ? id : missed();
  }
  return capture_by_libunwind(*stack, __builtin_return_address(0), until);
}

bool native_is_at(ThreadStack& thread, uint32_t walk, StackId stack, HookFrame hook) {
  FrameState innermost;
  if (__builtin_expect(hook != nullptr, true)) {
    const auto* const words = static_cast<const uint64_t*>(hook);
    innermost = {words[1], reinterpret_cast<uint64_t>(words + 2), words[0]};
    if (__builtin_expect(!thread.holds(innermost.sp), false)) return false;  // a fiber's stack, a signal handler's
  } else if (!find_innermost(thread, __builtin_frame_address(0), innermost)) {
    return false;
  }
  if (__builtin_expect(thread.generation != g_generation.load(std::memory_order_acquire), false)) return false;
  if (__builtin_expect(!g_walks.load(std::memory_order_relaxed), false)) return false;
  const uint32_t captures = thread.captures + 1;
  if (__builtin_expect(captures == thread.compare_at, false)) return false;
  if (!thread.walks.is_at(walk, stack, innermost, thread.depth_words(innermost.sp), thread.cache)) return false;
  thread.captures = captures;
  return true;
}

void native_trusts(const InterpreterCode& interpreter) {
  static_assert(kVerifyEvery == 251);  // as the text says
  if (!g_started.load(std::memory_order_acquire)) return;
  g_interpreter_code = interpreter;
  g_trusted_code.store(&g_interpreter_code, std::memory_order_release);
  g_generation.fetch_add(1, std::memory_order_acq_rel);  // records say nothing of the interpreter so far
  say_how("cached unwind rules, checked against libunwind; the interpreter's own frames at every 251st capture");
}

size_t native_frame_count() { return g_native_trie.count(); }
NativeFrame native_frame(StackId id) { return g_native_trie.frame(id); }

NativeCounts native_counts() {
  return {g_unwound.by_libunwind.load(std::memory_order_relaxed), g_unwound.compared.load(std::memory_order_relaxed),
          g_unwound.disagreed.load(std::memory_order_relaxed), g_unwound.outer_differed.load(std::memory_order_relaxed),
          g_walks.load(std::memory_order_relaxed)};
}

void native_after_fork_in_child() {
  if (!g_libunwind.usable() || g_libunwind.after_fork_in_child()) return;
  set_coverage(Subject::native_stacks, g_walks.load() ? Seen::partly : Seen::no,
               "another thread was inside libunwind when this process was forked: stacks that need libunwind are lost");
}

void native_forget_unloaded() { forget_unloaded(nullptr); }

}  // namespace tensorscope::stacks
