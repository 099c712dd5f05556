// SPDX-License-Identifier: Apache-2.0
#include "torch_events/backward_calls.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>
#include <utility>

#include "live/snapshot_view.h"
#include "live/tracker.h"
#include "support/clock.h"
#include "support/fresh_in_child.h"
#include "support/loaded_object.h"
#include "support/locks/mutex.h"
#include "support/page_array.h"
#include "support/state.h"
#include "torch_events/operation_trace.h"
#include "values_file/value_store.h"

namespace tensorscope::torch_events {

namespace {

using values_file::count_loss;

constexpr char kPeek[] = "_ZN2at15sequence_number4peekEv";
constexpr char kTask[] = "_ZN5torch8autograd25get_current_graph_task_idEv";  // from torch 2.0 on
constexpr size_t kMaxForwards = size_t{1} << 16;  // of a thread: beyond, older ones are forgotten
constexpr int kMaxThreads = 64;

// A node that has run.
struct NodeRun {
  uint64_t begin_ns, end_ns, live_before, live_after, peak;
  uint32_t thread;
  int task;  // number of the backward pass; -1: not known
};

struct Forward {
  format::CallRow row;
  uint64_t first_sequence, end_sequence;
  uint64_t parent;  // number of a Forward of this thread; 0: none
  const void* context;
  bool has_row;
  NodeRun backward;
  uint32_t nodes;  // that have run since the last row
};

// Of one thread of the program. Number n is calls[n - 1 - forgotten].
struct Forwards {
  ThreadId thread = 0;
  uint32_t system_thread = 0;
  PageArray<Forward> calls;
  uint64_t forgotten = 0, innermost = 0;
  uint64_t first_run = UINT64_MAX, last_run = 0;  // numbers of those with nodes that have run
  Forward* find(uint64_t number) {
    return number > forgotten && number - forgotten <= calls.size() ? &calls[number - 1 - forgotten] : nullptr;
  }
};

// The word of a Node that is its sequence number (torch/csrc/autograd/function.h): in one that has just been made the
// thread's last one, in those that accumulate gradients the largest there is.
constexpr int kWords = 8;
std::atomic<int> g_sequence_word{-1};

// A node that is running. Its end is always seen: the RecordFunction is on the stack.
struct RunningNode {
  const void* record;
  NodeRun run;
  uint64_t peak_outside;
};

struct BackwardState {
  Mutex lock;
  PageArray<RunningNode> running GUARDED_BY(lock);
  Forwards* threads[kMaxThreads] GUARDED_BY(lock) = {};
  int thread_count GUARDED_BY(lock) = 0;
  PageArray<format::CallRow> done GUARDED_BY(lock);  // of passes after which another one ran the same nodes
};

BackwardState* g_backward = nullptr;
uint64_t (*g_peek)() = nullptr;
int (*g_task)() = nullptr;
std::atomic<live::DeviceSlot> g_device{live::DeviceTable::kCpu};
thread_local Forwards* t_forwards = nullptr;
// The old one may have been left in the middle of a change: it is given up, not freed.
FreshInChild g_fresh_backward{[] {
  t_forwards = nullptr;
  if (g_backward) g_backward = new (std::nothrow) BackwardState;
}};

Forwards* of_this_thread(BackwardState& state) {
  if (t_forwards) return t_forwards;
  auto* made = new (std::nothrow) Forwards;
  if (!made) return nullptr;
  made->thread = live::calling_thread();
  made->system_thread = uint32_t(syscall(SYS_gettid));
  const MutexGuard guard(state.lock);
  if (state.thread_count == kMaxThreads) {
    delete made;
    return nullptr;
  }
  state.threads[state.thread_count++] = made;
  return t_forwards = made;
}

// The innermost call during which the node was made: calls of a thread nest.
Forward* maker(Forwards& forwards, uint64_t sequence) {
  const Forward* const after =
      std::partition_point(forwards.calls.begin(), forwards.calls.end(),
                           [&](const Forward& each) { return each.first_sequence <= sequence; });
  uint64_t number = forwards.forgotten + uint64_t(after - forwards.calls.begin());
  while (Forward* const forward = forwards.find(number)) {
    if (sequence < forward->end_sequence) return forward;
    number = forward->parent;
  }
  return nullptr;
}

format::CallRow backward_row(const Forward& forward) {
  const NodeRun& run = forward.backward;
  format::CallRow row = forward.row;
  row.mutate_parent(row.id());
  row.mutate_begin_ns(run.begin_ns);
  row.mutate_end_ns(run.end_ns);
  row.mutate_live_before(run.live_before);
  row.mutate_live_after(run.live_after);
  row.mutate_peak(run.peak);
  row.mutate_thread(run.thread);
  row.mutate_flags(uint16_t(format::CallFlag::backward));
  return row;
}

void add_run(BackwardState& state, Forwards& forwards, Forward* forward, const NodeRun& run) REQUIRES(state.lock) {
  while (forward) {
    Forward* const outer = forwards.find(forward->parent);
    if (!forward->has_row) {
      forward = outer;
      continue;
    }
    NodeRun& sum = forward->backward;
    if (forward->nodes != 0 && sum.task != run.task) {
      if (!state.done.push(backward_row(*forward))) count_loss("backward", "not enough memory");
      forward->nodes = 0;
    }
    if (forward->nodes++ == 0) {
      sum = run;
    } else {
      if (run.begin_ns < sum.begin_ns) sum.begin_ns = run.begin_ns, sum.live_before = run.live_before;
      if (run.end_ns > sum.end_ns) sum.end_ns = run.end_ns, sum.live_after = run.live_after;
      sum.peak = std::max(sum.peak, run.peak);
    }
    const uint64_t number = forwards.forgotten + uint64_t(forward - forwards.calls.begin()) + 1;
    forwards.first_run = std::min(forwards.first_run, number);
    forwards.last_run = std::max(forwards.last_run, number);
    forward = outer;
  }
}

// Whose calls the node's sequence number is among: sequence numbers are of a thread each, and a thread runs what
// others made, as torch's threads for devices do. Null: nobody's, or not known (counted).
Forwards* maker_of(const BackwardState& state, const void* node) REQUIRES(state.lock) {
  const ThreadId maker = live::node_thread_now(node);
  for (int i = 0; i < state.thread_count; ++i) {
    if (maker != 0 && state.threads[i]->thread == maker) return state.threads[i];
  }
  if (maker != 0) return nullptr;
  if (t_forwards) return t_forwards;
  if (state.thread_count == 1) return state.threads[0];
  count_loss("backward", "of calls in several threads, run by a thread of torch");
  return nullptr;
}

// Null: it accumulates a gradient, or was made in no call that is followed.
Forward* forward_of(const BackwardState& state, const void* node, Forwards*& forwards) REQUIRES(state.lock) {
  const int word = g_sequence_word.load(std::memory_order_acquire);
  if (word < 0) {
    count_loss("backward", "where nodes have their sequence number was not found");
    return nullptr;
  }
  uint64_t sequence;
  memcpy(&sequence, static_cast<const char*>(node) + size_t(word) * sizeof sequence, sizeof sequence);
  if (sequence == UINT64_MAX) return nullptr;
  forwards = maker_of(state, node);
  return forwards ? maker(*forwards, sequence) : nullptr;
}

uint64_t live_bytes() {
  return live::g_devices.row(g_device.load(std::memory_order_relaxed)).bytes_live.load(std::memory_order_relaxed);
}

void node_begins(const void* record) {
  HookScope scope;
  BackwardState* const state = g_backward;
  if (!scope || !state || !live::running_node_address()) return;
  const uint64_t live = live_bytes();
  const MutexGuard guard(state->lock);
  const uint64_t outside = live::g_devices.lower_peak_since(g_device.load(std::memory_order_relaxed), live);
  const NodeRun run = {.begin_ns = monotonic_ns(),
                       .end_ns = 0,
                       .live_before = live,
                       .live_after = 0,
                       .peak = 0,
                       .thread = uint32_t(syscall(SYS_gettid)),
                       .task = g_task ? g_task() : -1};
  state->running.push({record, run, outside});
}

void node_ends(const void* record) {
  HookScope scope;
  BackwardState* const state = g_backward;
  const void* const node = live::running_node_address();
  if (!scope || !state || !node) return;
  const uint64_t now = monotonic_ns(), live = live_bytes();
  const MutexGuard guard(state->lock);
  PageArray<RunningNode>& running = state->running;
  size_t at = running.size();
  while (at > 0 && running[at - 1].record != record) --at;
  if (at == 0) return;
  NodeRun run = running[at - 1].run;
  const uint64_t outside = running[at - 1].peak_outside;
  std::copy(running.begin() + at, running.end(), running.begin() + at - 1);
  running.pop();
  const live::DeviceSlot device = g_device.load(std::memory_order_relaxed);
  run.end_ns = now;
  run.live_after = live;
  run.peak = std::max(live::g_devices.row(device).peak_since.load(std::memory_order_relaxed), run.live_before);
  live::g_devices.lower_peak_since(device, std::max(run.peak, outside));
  Forwards* forwards = nullptr;
  if (Forward* const forward = forward_of(*state, node, forwards)) add_run(*state, *forwards, forward, run);
}

// A thread that is here runs no backward pass, others may be in the middle of one. Threads of torch run those of
// threads that wait for them.
bool may_go_on(const BackwardState& state, const NodeRun& run) REQUIRES(state.lock) {
  if (t_forwards && run.thread == t_forwards->system_thread) return false;
  return std::any_of(state.threads, state.threads + state.thread_count,
                     [&](const Forwards* each) { return each->system_thread == run.thread; });
}

void forget_old(Forwards& forwards) {
  constexpr size_t kKept = kMaxForwards / 2;
  PageArray<Forward> kept;
  const size_t gone = forwards.calls.size() - kKept;
  if (!kept.append(forwards.calls.begin() + gone, kKept)) return;
  forwards.calls = std::move(kept);
  forwards.forgotten += gone;
}

}  // namespace

Status follow_forwards() {
  if (g_backward) return Status::done();
  const LoadedObject torch = find_object("libtorch_cpu.so");
  if (torch) g_peek = reinterpret_cast<uint64_t (*)()>(torch.find(kPeek));
  if (torch) g_task = reinterpret_cast<int (*)()>(torch.find(kTask));
  if (!g_peek) return Status::failed("this torch has no sequence numbers");
  g_backward = new (std::nothrow) BackwardState;
  return g_backward ? Status::done() : Status::failed("not enough memory");
}

void learn_from_new_node(const void* node) {
  constexpr int kEnough = 4;
  static uint64_t excluded = 0;
  static int nodes = 0;
  if (!g_peek || g_sequence_word.load(std::memory_order_relaxed) >= 0) return;
  uint64_t words[kWords];
  memcpy(words, node, sizeof words);
  for (int i = 0; i < kWords; ++i) {
    if (words[i] != g_peek() - 1) excluded |= uint64_t{1} << i;
  }
  const uint64_t left = ~excluded & ((uint64_t{1} << kWords) - 1);
  if (++nodes >= kEnough && std::has_single_bit(left)) {
    g_sequence_word.store(std::countr_zero(left), std::memory_order_release);
  }
}

bool knows_nodes() { return g_sequence_word.load(std::memory_order_relaxed) >= 0; }

Status follow_backward(live::DeviceSlot device) {
  g_device.store(device, std::memory_order_relaxed);
  return trace_backward({node_begins, node_ends});
}

void follow_backward_on(live::DeviceSlot device) { g_device.store(device, std::memory_order_relaxed); }

uint64_t forward_begins(const format::CallRow& row, bool has_row, const void* context) {
  BackwardState* const state = g_backward;
  Forwards* const forwards = state ? of_this_thread(*state) : nullptr;
  if (!forwards) return 0;
  const MutexGuard guard(state->lock);
  if (forwards->innermost == 0 && forwards->calls.size() >= kMaxForwards) forget_old(*forwards);
  const Forward forward = {.row = row,
                           .first_sequence = g_peek(),
                           .end_sequence = UINT64_MAX,
                           .parent = forwards->innermost,
                           .context = context,
                           .has_row = has_row,
                           .backward = {},
                           .nodes = 0};
  if (!forwards->calls.push(forward)) return 0;
  return forwards->innermost = forwards->forgotten + forwards->calls.size();
}

void forward_ends(uint64_t forward) {
  BackwardState* const state = g_backward;
  if (!state || forward == 0 || !t_forwards) return;
  const MutexGuard guard(state->lock);
  if (Forward* const call = t_forwards->find(forward)) {
    call->end_sequence = g_peek();
    t_forwards->innermost = call->parent;
  }
}

ForwardCall forward_of_node(const void* node) {
  BackwardState* const state = g_backward;
  if (!state) return {};
  const MutexGuard guard(state->lock);
  Forwards* forwards = nullptr;
  const Forward* const forward = forward_of(*state, node, forwards);
  return forward ? ForwardCall{forward->row.id(), forward->context} : ForwardCall{};
}

void add_backward_calls(uint64_t (*next_id)(), bool all) {
  BackwardState* const state = g_backward;
  if (!state) return;
  const MutexGuard guard(state->lock);
  PageArray<format::CallRow> rows = std::move(state->done);
  state->done.reset();
  for (int i = 0; i < state->thread_count; ++i) {
    Forwards& forwards = *state->threads[i];
    const uint64_t first = forwards.first_run, last = forwards.last_run;
    forwards.first_run = UINT64_MAX;
    forwards.last_run = 0;
    for (uint64_t number = first; number <= last; ++number) {
      Forward* const forward = forwards.find(number);
      if (!forward || forward->nodes == 0) continue;
      if (!all && may_go_on(*state, forward->backward)) {
        forwards.first_run = std::min(forwards.first_run, number);
        forwards.last_run = number;
        continue;
      }
      forward->nodes = 0;
      if (!rows.push(backward_row(*forward))) count_loss("backward", "not enough memory");
    }
  }
  // In the order in which they began, a module before those in it.
  std::sort(rows.begin(), rows.end(), [](const format::CallRow& a, const format::CallRow& b) {
    return std::pair(a.begin_ns(), a.parent()) < std::pair(b.begin_ns(), b.parent());
  });
  for (format::CallRow& row : rows) {
    row.mutate_id(next_id());
    values_file::add_call(row);
  }
}

}  // namespace tensorscope::torch_events
