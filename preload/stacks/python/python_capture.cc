// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_capture.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "stacks/python/remembered_stacks.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/locks/spin_lock.h"
#include "support/pages.h"

namespace tensorscope::stacks {

namespace {

constexpr size_t kDeepest = 2048;  // frames of one stack; what is outside becomes PythonCodeTable::kLeftOut

}  // namespace

struct PythonCapture::ThreadStack {
  // If a known code object was freed since, its address may stand for another one now.
  uint64_t generation;
  size_t depth;
  bool left_out;         // there were frames beyond kDeepest
  ModuleCalls calls;     // of this generation
  bool more_calls;       // than these: no stack is remembered
  uint32_t until_asked;  // ThreadState
  Activation activation;
  RememberedStacks remembered;
  KnownFrame known[kDeepest];  // outermost first
  RawFrame walked[kDeepest];   // innermost first
  ThreadStack* next_spare;
};

thread_local PythonCapture::ThreadStack* PythonCapture::t_stack = nullptr;

// ---- What is kept for a thread ----------------------------------------------------------------------------------

namespace {

constinit SpinLock g_spare_lock;
constinit void* g_spare GUARDED_BY(g_spare_lock) = nullptr;  // ThreadStacks of threads that ended
// Another thread may have been at the list: what is in it is lost.
FreshInChild g_fresh_spare{[]() NO_THREAD_SAFETY_ANALYSIS { g_spare = nullptr; }};
constinit std::atomic<uint64_t> g_thread_memory{0};
constinit pthread_key_t g_thread_end;

}  // namespace

bool PythonCapture::prepare() { return pthread_key_create(&g_thread_end, give_back) == 0; }

void PythonCapture::give_back(void* stack) {
  t_stack = nullptr;
  SpinGuard guard(g_spare_lock);
  if (!guard) return;
  auto* spare = static_cast<ThreadStack*>(stack);
  spare->next_spare = static_cast<ThreadStack*>(g_spare);
  g_spare = spare;
}

PythonCapture::ThreadStack* PythonCapture::take_spare() {
  SpinGuard guard(g_spare_lock);
  if (!guard || g_spare == nullptr) return nullptr;
  auto* stack = static_cast<ThreadStack*>(g_spare);
  g_spare = stack->next_spare;
  stack->depth = 0;
  return stack;
}

PythonCapture::ThreadStack* PythonCapture::new_thread_stack() {
  ThreadStack* stack = take_spare();
  if (stack == nullptr) {
    stack = static_cast<ThreadStack*>(map_pages(sizeof(ThreadStack)));
    if (stack == nullptr) return nullptr;
    g_thread_memory.fetch_add(sizeof(ThreadStack), std::memory_order_relaxed);
  }
  pthread_setspecific(g_thread_end, stack);
  t_stack = stack;
  return stack;
}

uint64_t PythonCapture::thread_memory() const { return g_thread_memory.load(std::memory_order_relaxed); }

// ---- Capture ------------------------------------------------------------------------------------------------------

// `self` of a call wrapper. The plain one, called by the wrapped one, would only say the same again.
uint64_t PythonCapture::module_object(const RawFrame& raw, ModuleCall call, const KnownFrame* caller) const {
  const void* object = nullptr;
  if (call == ModuleCall::wrapped) {
    object = first_local(interpreter_.layout, raw.frame, nullptr);
  } else if (call == ModuleCall::plain && (caller == nullptr || caller->call != ModuleCall::wrapped)) {
    object = first_local(interpreter_.layout, raw.frame, interpreter_.api.cell_type);
  }
  return reinterpret_cast<uintptr_t>(object);
}

// Stacks are read before the interpreter can say where it keeps variables: without an object there, calls of different
// modules have one stack.
bool PythonCapture::has_sound_local(const RawFrame& raw) {
  Agreement sound = locals_sound_.load(std::memory_order_relaxed);
  if (sound == Agreement::nothing_to_compare) {
    sound = first_local_looks_sound(interpreter_, raw.frame);
    locals_sound_.store(sound, std::memory_order_relaxed);
  }
  return sound != Agreement::no;
}

// Looks the frame up in the tables. False: they are full.
bool PythonCapture::intern_frame(ThreadStack& stack, const RawFrame& raw, const KnownFrame* caller, StackId parent,
                                 KnownFrame& known) {
  known = {raw.code, raw.position, 0, parent, ModuleCall::none};
  const char* type = nullptr;
  if (raw.code != nullptr) std::memcpy(&type, raw.code + kTypeOffset, sizeof type);
  if (type != interpreter_.api.code_type) return true;  // runs no Python code: its caller's node stands for it
  uint32_t code = codes_.find(raw.code, interpreter_.layout);
  if (code == 0) code = codes_.add(raw.code, interpreter_.layout);
  if (code == 0) return false;
  if (codes_[code].call != ModuleCall::none && has_sound_local(raw)) known.call = codes_[code].call;
  if (known.call != ModuleCall::none && !stack.calls.add(raw.code)) stack.more_calls = true;
  known.module_object = module_object(raw, known.call, caller);
  known.node = trie_.intern({parent, code, raw.offset(interpreter_.layout), raw.entry(), known.module_object});
  return known.node != 0;
}

// How many of the outermost frames are those of the thread's last stack. Exact: a node of the trie stands for the code
// object, the position in it and `self`, not for one activation; and the code objects of the last stack are the same
// ones as long as none was freed.
size_t PythonCapture::common_depth(const ThreadStack& stack, size_t depth) const {
  const size_t limit = std::min(depth, stack.depth);
  size_t common = 0;
  const RawFrame* raw = stack.walked + depth;
  for (const KnownFrame* known = stack.known; common < limit; ++common, ++known) {
    --raw;
    if (raw->code != known->code || raw->position != known->position) break;
    if (known->call != ModuleCall::none &&
        module_object(*raw, known->call, common == 0 ? nullptr : known - 1) != known->module_object) {
      break;
    }
  }
  return common;
}

StackId PythonCapture::capture_remembered(ThreadStack& stack, const char* thread_state) {
  const uint64_t generation = codes_.generation();
  const char* const innermost = innermost_frame(interpreter_.layout, thread_state);
  const RememberedStacks::Stack* next = stack.remembered.find_next(interpreter_.layout, innermost, generation);
  if (__builtin_expect(next == nullptr, false)) return capture_other(stack, thread_state, innermost, generation);
  stack.activation = next->activation;
  return next->node;
}

StackId PythonCapture::capture_other(ThreadStack& stack, const char* thread_state, const char* innermost,
                                     uint64_t generation) {
  if (stack.generation != generation) {
    stack.depth = 0;
    stack.calls = {};
    stack.calls.cell_type = interpreter_.api.cell_type;
    stack.more_calls = false;
    stack.generation = generation;
  }
  if (stack.more_calls) return capture_into(stack, thread_state);
  const uint32_t calls = stack.calls.count();
  const HashedFrames frames = hash_frames(interpreter_.layout, thread_state, generation, stack.calls, kDeepest);
  if (frames.depth == 0) return capture_into(stack, thread_state);
  const RememberedStacks::Present present{frames, interpreter_.layout, innermost, generation, stack.calls};
  if (const RememberedStacks::Stack* found = stack.remembered.find(present)) {
    stack.activation = {frames.entry, frames.entry_code, found->activation.caller};
    return found->node;
  }
  const StackId node = capture_into(stack, thread_state);
  // Where a call was met for the first time, the hash is one without its `self`.
  if (node != 0 && stack.calls.count() == calls) stack.remembered.add(present, node, stack.activation.caller);
  return node;
}

StackId PythonCapture::capture_into(ThreadStack& stack, const char* thread_state) {
  bool left_out = false;
  const size_t depth = walk_frames(interpreter_.layout, thread_state, stack.walked, kDeepest, left_out);
  if (depth == 0) return 0;
  if (stack.left_out != left_out) stack.depth = 0;
  stack.left_out = left_out;

  size_t at = common_depth(stack, depth);
  StackId parent = at == 0 ? 0 : stack.known[at - 1].node;
  if (at == 0 && left_out) parent = trie_.intern({0, PythonCodeTable::kLeftOut, 0, 1, 0});
  for (; at < depth; ++at) {
    const KnownFrame* caller = at == 0 ? nullptr : &stack.known[at - 1];
    if (!intern_frame(stack, stack.walked[depth - 1 - at], caller, parent, stack.known[at])) {
      stack.depth = at;
      count_missed(Subject::python_stacks);
      return 0;
    }
    parent = stack.known[at].node;
  }
  stack.depth = depth;
  size_t entry = 0;
  while (entry + 1 < depth && !stack.walked[entry].entry()) ++entry;
  stack.activation = {stack.walked[entry].frame, stack.walked[entry].code,
                      entry + 1 < depth ? stack.known[depth - 2 - entry].node : 0};
  return parent;
}

const Activation& PythonCapture::last_activation() { return t_stack == nullptr ? kNoActivation : t_stack->activation; }

uint32_t PythonCapture::last_number(StackId node) {
  return t_stack == nullptr ? kNoNumber : t_stack->remembered.last(node);
}

bool PythonCapture::is_at(uint32_t number, StackId node) {
  ThreadStack* const stack = t_stack;
  if (__builtin_expect(stack == nullptr, false)) return false;
  const char* const thread_state = thread_state_.of_this_thread(stack->until_asked);
  if (__builtin_expect(thread_state == nullptr, false)) return false;
  const char* const innermost = innermost_frame(interpreter_.layout, thread_state);
  return stack->remembered.is_at(number, node, interpreter_.layout, innermost, codes_.generation());
}

const Activation& PythonCapture::activation(uint32_t number) { return t_stack->remembered[number].activation; }

void PythonCapture::prefetch(uint32_t number) { t_stack->remembered.prefetch(number); }

StackId PythonCapture::capture() {
  ThreadStack* stack = t_stack;
  uint32_t first = 0;
  const char* const thread_state = thread_state_.of_this_thread(stack != nullptr ? stack->until_asked : first);
  if (thread_state == nullptr) return 0;
  if (stack == nullptr && (stack = new_thread_stack()) == nullptr) {
    count_missed(Subject::python_stacks);
    return 0;
  }
  return capture_remembered(*stack, thread_state);
}

}  // namespace tensorscope::stacks
