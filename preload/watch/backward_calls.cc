#include "watch/backward_calls.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "live/recorder.h"
#include "live/snapshot_view.h"
#include "support/clock.h"
#include "support/loaded_object.h"
#include "support/mutex.h"
#include "support/page_array.h"
#include "support/state.h"
#include "watch/operation_trace.h"
#include "watch/value_store.h"

namespace tensorscope::watch {

namespace {

constexpr char kPeek[] = "_ZN2at15sequence_number4peekEv";
constexpr char kTask[] = "_ZN5torch8autograd25get_current_graph_task_idEv";  // from torch 2.0 on
constexpr size_t kMostForwards = size_t{1} << 16;  // of a thread: beyond, older ones are forgotten
constexpr size_t kMostPending = 4096;
constexpr int kMostThreads = 64;

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
  NodeRun backward;
  uint32_t nodes;  // that have run since the last row
};

// Of one thread of the program. Number n is calls[n - 1 - forgotten].
struct Forwards {
  ThreadId thread = 0;
  PageArray<Forward> calls;
  uint64_t forgotten = 0, innermost = 0;
  uint64_t first_run = UINT64_MAX, last_run = 0;  // numbers of those with nodes that have run
  Forward* find(uint64_t number) {
    return number > forgotten && number - forgotten <= calls.size() ? &calls[number - 1 - forgotten] : nullptr;
  }
};

constexpr int kWords = 8;  // of a node, in which its sequence number is looked for
struct PendingRun {
  uint64_t words[kWords];
  NodeRun run;
  Forwards* own;
  ThreadId maker;  // of the node; 0: not known
};

// A node that is running. Its end is told in any case: the RecordFunction is on the stack.
struct RunningNode {
  const void* record;
  NodeRun run;
  uint64_t peak_outside;
};

struct BackwardState {
  Mutex lock;
  PageArray<RunningNode> running;
  Forwards* threads[kMostThreads] = {};
  int thread_count = 0;
  // The word of a Node that is its sequence number, by what nodes have there: the largest number there is in those that
  // accumulate gradients (torch/csrc/autograd/functions/accumulate_grad.cpp), else less than what comes next.
  int sequence_word = -1;
  bool excluded[kWords] = {}, accumulates[kWords] = {};
  PageArray<PendingRun> pending;
  PageArray<format::CallRow> done;  // of passes after which another one ran the same nodes
};

BackwardState* g_backward = nullptr;
uint64_t (*g_peek)() = nullptr;
int (*g_task)() = nullptr;
std::atomic<live::DeviceSlot> g_device{live::DeviceTable::kCpu};
thread_local Forwards* t_forwards = nullptr;

Forwards* of_this_thread(BackwardState& state) {
  if (t_forwards) {
    t_forwards->thread = live::calling_thread();  // another one in a forked child
    return t_forwards;
  }
  auto* made = new (std::nothrow) Forwards;
  if (!made) return nullptr;
  made->thread = live::calling_thread();
  const MutexGuard guard(state.lock);
  if (state.thread_count == kMostThreads) {
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

void add_run(BackwardState& state, Forwards& forwards, Forward* forward, const NodeRun& run) {
  while (forward) {
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
    forward = forwards.find(forward->parent);
  }
}

// Whose calls the node's sequence number is among: sequence numbers are of a thread each, and a thread runs what
// others made, as torch's threads for devices do. Null: nobody's, or not known (counted).
Forwards* maker_of(const BackwardState& state, const PendingRun& pending) {
  for (int i = 0; i < state.thread_count; ++i) {
    if (pending.maker != 0 && state.threads[i]->thread == pending.maker) return state.threads[i];
  }
  if (pending.maker != 0) return nullptr;
  if (pending.own) return pending.own;
  if (state.thread_count == 1) return state.threads[0];
  count_loss("backward", "of calls in several threads, run by a thread of torch");
  return nullptr;
}

void assign(BackwardState& state, const PendingRun& pending) {
  const uint64_t sequence = pending.words[state.sequence_word];
  if (sequence == UINT64_MAX) return;  // accumulates a gradient
  if (Forwards* const forwards = maker_of(state, pending)) {
    add_run(state, *forwards, maker(*forwards, sequence), pending.run);
  }
}

void learn(BackwardState& state, const uint64_t (&words)[kWords]) {
  const uint64_t next = g_peek();
  for (int i = 0; i < kWords; ++i) {
    state.accumulates[i] |= words[i] == UINT64_MAX;
    state.excluded[i] |= words[i] != UINT64_MAX && words[i] >= next;
  }
  int found = -1;
  for (int i = 0; i < kWords; ++i) {
    if (!state.accumulates[i] || state.excluded[i]) continue;
    if (found >= 0) return;
    found = i;
  }
  state.sequence_word = found;
}

void node_has_run(BackwardState& state, const PendingRun& pending) {
  if (state.sequence_word >= 0) return assign(state, pending);
  learn(state, pending.words);
  if (state.pending.size() < kMostPending) state.pending.push(pending);
  if (state.sequence_word < 0) return;
  for (const PendingRun& each : state.pending) assign(state, each);
  state.pending.reset();
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
  state->running.push(
      {record, {monotonic_ns(), 0, live, 0, 0, uint32_t(syscall(SYS_gettid)), g_task ? g_task() : -1}, outside});
}

void node_ends(const void* record) {
  HookScope scope;
  BackwardState* const state = g_backward;
  const void* const node = live::running_node_address();
  if (!scope || !state || !node) return;
  const uint64_t now = monotonic_ns(), live = live_bytes();
  PendingRun pending = {};
  memcpy(pending.words, node, sizeof pending.words);
  pending.own = t_forwards;
  pending.maker = live::node_thread_now(node);
  const MutexGuard guard(state->lock);
  PageArray<RunningNode>& running = state->running;
  size_t at = running.size();
  while (at > 0 && running[at - 1].record != record) --at;
  if (at == 0) return;
  pending.run = running[at - 1].run;
  const uint64_t outside = running[at - 1].peak_outside;
  std::copy(running.begin() + at, running.end(), running.begin() + at - 1);
  running.pop();
  const live::DeviceSlot device = g_device.load(std::memory_order_relaxed);
  pending.run.end_ns = now;
  pending.run.live_after = live;
  pending.run.peak =
      std::max(live::g_devices.row(device).peak_since.load(std::memory_order_relaxed), pending.run.live_before);
  live::g_devices.lower_peak_since(device, std::max(pending.run.peak, outside));
  node_has_run(*state, pending);
}

void forget_old(Forwards& forwards) {
  constexpr size_t kKept = kMostForwards / 2;
  PageArray<Forward> kept;
  const size_t gone = forwards.calls.size() - kKept;
  if (!kept.append(forwards.calls.begin() + gone, kKept)) return;
  forwards.calls = std::move(kept);
  forwards.forgotten += gone;
}

}  // namespace

const char* follow_backward(live::DeviceSlot device) {
  g_device.store(device, std::memory_order_relaxed);
  const LoadedObject torch = find_object("libtorch_cpu.so");
  if (torch) g_peek = reinterpret_cast<uint64_t (*)()>(torch.find(kPeek));
  if (torch) g_task = reinterpret_cast<int (*)()>(torch.find(kTask));
  if (!g_peek) return "this torch has no sequence numbers";
  g_backward = new (std::nothrow) BackwardState;
  return g_backward ? trace_backward({node_begins, node_ends}) : "not enough memory";
}

void follow_backward_on(live::DeviceSlot device) { g_device.store(device, std::memory_order_relaxed); }

uint64_t forward_begins(const format::CallRow& row) {
  BackwardState* const state = g_backward;
  Forwards* const forwards = state ? of_this_thread(*state) : nullptr;
  if (!forwards) return 0;
  const MutexGuard guard(state->lock);
  if (forwards->innermost == 0 && forwards->calls.size() >= kMostForwards) forget_old(*forwards);
  Forward forward = {row, g_peek(), UINT64_MAX, forwards->innermost, {}, 0};
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

void add_backward_calls(uint64_t (*next_id)()) {
  BackwardState* const state = g_backward;
  if (!state) return;
  const MutexGuard guard(state->lock);
  PageArray<format::CallRow> rows = std::move(state->done);
  state->done.reset();
  for (int i = 0; i < state->thread_count; ++i) {
    Forwards& forwards = *state->threads[i];
    for (uint64_t number = forwards.first_run; number <= forwards.last_run; ++number) {
      Forward* const forward = forwards.find(number);
      if (!forward || forward->nodes == 0) continue;
      forward->nodes = 0;
      if (!rows.push(backward_row(*forward))) count_loss("backward", "not enough memory");
    }
    forwards.first_run = UINT64_MAX;
    forwards.last_run = 0;
  }
  // In the order in which they began, a module before those in it.
  std::sort(rows.begin(), rows.end(), [](const format::CallRow& a, const format::CallRow& b) {
    return std::pair(a.begin_ns(), a.parent()) < std::pair(b.begin_ns(), b.parent());
  });
  for (format::CallRow& row : rows) {
    row.mutate_id(next_id());
    add_call(row);
  }
}

// The old one may have been left in the middle of a change: it is given up, not freed.
void reset_backward_calls_after_fork() {
  if (!g_backward) return;
  t_forwards = nullptr;
  g_backward = new (std::nothrow) BackwardState;
}

}  // namespace tensorscope::watch
