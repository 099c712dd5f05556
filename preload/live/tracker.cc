// SPDX-License-Identifier: Apache-2.0
#include "live/tracker.h"

#include <atomic>
#include <optional>

#include "live/all_locks.h"
#include "live/allocation_table.h"
#include "live/device_table.h"
#include "live/event_log.h"
#include "live/node_table.h"
#include "live/peak.h"
#include "live/serials.h"
#include "live/shared_capture.h"
#include "live/site_table.h"
#include "live/step_marks.h"
#include "live/tensor_table.h"
#include "live/thread_table.h"
#include "stacks/capture.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/ticks.h"

namespace tensorscope::live {

namespace {

constinit Serial g_fork_serial = 0;
FreshInChild g_fresh_serial{[] { g_fork_serial = newest_serial(); }};
constinit thread_local bool t_locked_for_fork = false;

struct ThisThread {
  ThreadId id = 0;
  bool entered = false;       // id is known, or known to be 0
  bool ran_backward = false;  // a node allocated on it
  // The Python stack that was asked for last, and whether it is in a backward pass.
  StackId asked_python = 0;
  bool asked_in_backward = false;
  RecentClock clock;
  SharedCapture shared;
};
constinit thread_local ThisThread t_this;
FreshInChild g_fresh_thread{[] { make_anew(t_this); }};  // another thread of the system, by another number

constinit std::atomic<bool> g_tensor_tracking_disabled{false};
constinit std::atomic<CurrentNodeFunction> g_current_node{nullptr};
constinit std::atomic<GrowthFunction> g_growth{nullptr};
constinit std::atomic<FactsFunction> g_facts{nullptr};

[[gnu::noinline]] void enter_this_thread() {
  t_this.id = g_threads.add_this_thread();
  t_this.entered = true;
}

[[gnu::always_inline]] inline ThreadId this_thread() {
  if (__builtin_expect(!t_this.entered, false)) enter_this_thread();
  return t_this.id;
}

[[gnu::always_inline]] inline SiteId site_of(const stacks::Stack& stack) {
  SiteId site = stack.note == nullptr ? 0 : *stack.note;
  if (__builtin_expect(site == 0, false)) {
    site = g_sites.intern(stack);
    if (stack.note != nullptr) *stack.note = site;
  }
  g_sites.prefetch(site);
  return site;
}

SiteId site_here(uint64_t nbytes, stacks::HookFrame hook = nullptr) { return site_of(stacks::capture(nbytes, hook)); }

[[gnu::noinline]] SiteId site_of_taker_elsewhere() {
  const SharedCapture::Block& block = t_this.shared.block();
  const StackId python = stacks::capture_python_part();
  if (python == block.python) return block.site;
  return site_of(stacks::capture_native_part(python, block.nbytes));
}

// The site of the tensor that takes the thread's block: the allocation's, made by the same operation, unless Python has
// gone on to another instruction in between.
[[gnu::always_inline]] inline SiteId site_of_taker() {
  const SharedCapture::Block& block = t_this.shared.block();
  if (__builtin_expect(stacks::python_is_still(block.python), true)) return block.site;
  return site_of_taker_elsewhere();
}

struct RunningNode {
  NodeId id = 0;
  bool runs = false;  // one that is not in the table, too
};

RunningNode running_node(SiteId site) {
  const CurrentNodeFunction current = g_current_node.load(std::memory_order_acquire);
  const void* node = current == nullptr ? nullptr : current();
  if (node == nullptr) return {};
  backward_runs();
  return {g_nodes.refer(node, site), true};
}

// ---- the event log --------------------------------------------------------------------------------------------------

// What an event says beside its kind (event_log.h).
struct EventFacts {
  uint64_t a = 0, b = 0, c = 0;
  uint32_t aux = 0;
  SiteId site = 0;
};

[[gnu::noinline]] void note(EventKind kind, Serial order, Serial serial, const EventFacts& facts = {}) {
  Event event;
  event.order = order;
  event.serial = serial;
  event.ticks = read_ticks();
  event.a = facts.a;
  event.b = facts.b;
  event.c = facts.c;
  event.aux = facts.aux;
  event.site = facts.site;
  event.thread = this_thread();
  event.kind = uint32_t(kind);
  note_events(&event, 1);
}

[[gnu::noinline]] void note_removed(EventKind kind, const Removed& removed) {
  if (removed.serial != 0) note(kind, removed.order, removed.serial);
}

// Something has come into a table. What stood in its place, if anything did, ended unseen: right before.
struct Kinds {
  EventKind made, ended;
};
void note_made(Kinds kinds, const Inserted& made, const EventFacts& facts) {
  if (made.serial == 0) return;
  if (made.replaced != 0) note(kinds.ended, made.serial - 1, made.replaced);
  note(kinds.made, made.serial, made.serial, facts);
}

// Of no row of a table: it comes after all that was made before.
void note_now(EventKind kind, const EventFacts& facts) { note(kind, newest_serial(), 0, facts); }

uint32_t memory_word(uint32_t kind, Device device) {
  return kind | uint32_t(uint8_t(device.type)) << 8 | uint32_t(uint8_t(device.index)) << 16;
}

[[gnu::noinline]] void note_allocated(const Inserted& made, const NewAllocation& what, SiteId site) {
  note_made({EventKind::allocated, EventKind::freed}, made,
            {.a = reinterpret_cast<uint64_t>(what.pointer),
             .b = what.nbytes,
             .c = g_nodes.serial(what.node),
             .aux = memory_word(uint32_t(what.kind), g_devices.device(what.device)),
             .site = site});
}

[[gnu::noinline]] void note_tensor(const TensorReference& tensor) {
  note_made({EventKind::tensor_made, EventKind::tensor_gone}, {tensor.serial, tensor.replaced},
            {.a = reinterpret_cast<uint64_t>(tensor.impl), .site = tensor.site});
}

[[gnu::noinline]] void note_runtime(const Inserted& made, const RuntimeBlock& block, SiteId site) {
  note_made({EventKind::runtime_allocated, EventKind::runtime_freed}, made,
            {.a = reinterpret_cast<uint64_t>(block.pointer),
             .b = block.nbytes,
             .aux = memory_word(uint32_t(block.kind), block.device) | uint32_t(block.by_torch) << 24,
             .site = site});
}

// What a tensor is, while its memory is still its own, and that it has ended.
class TensorEnd {
 public:
  explicit TensorEnd(const void* impl) {
    if (const FactsFunction read = g_facts.load(std::memory_order_relaxed)) count_ = read(impl, events_);
    knows_ = count_ != 0;
    if (!knows_) events_[count_++] = Event{};
  }
  void note_released(const Removed& removed) { note(removed, EventKind::tensor_released); }
  void note_destroyed(const Removed& removed) {
    note(removed, knows_ ? EventKind::tensor_ended : EventKind::tensor_gone);
  }

 private:
  void note(const Removed& removed, EventKind kind) {
    if (removed.serial == 0) return;
    const uint64_t ticks = read_ticks();
    const uint32_t thread = this_thread();
    for (size_t i = 0; i < count_; ++i) {
      events_[i].kind = uint32_t(i == 0 ? kind : EventKind::tensor_extent);
      events_[i].order = removed.order;
      events_[i].serial = removed.serial;
      events_[i].ticks = ticks;
      events_[i].thread = thread;
    }
    note_events(events_, count_);
  }

  Event events_[kMaxFacts + 1];
  size_t count_ = 0;
  bool knows_ = false;
};

// ---- what hooks report ----------------------------------------------------------------------------------------------

// The block is not the program's yet, so its row, and with it the node, stays.
[[gnu::noinline]] void tell_growth(uint64_t nbytes, AllocationKind kind, DeviceSlot device, const Origin& origin,
                                   NodeId node) {
  const GrowthFunction tell = g_growth.load(std::memory_order_relaxed);
  if (tell == nullptr) return;
  tell({g_devices.device(device),
        nbytes,
        {origin.site, origin.thread, g_nodes.serial(node)},
        kind == AllocationKind::heap});
}

Origin allocated(const void* pointer, uint64_t nbytes, AllocationKind kind, DeviceSlot device,
                 stacks::HookFrame hook = nullptr) {
  g_allocations.prefetch(pointer, device);
  const stacks::Stack stack = stacks::capture(nbytes, hook);
  const Origin origin{t_this.clock.ns(), site_of(stack), this_thread()};
  t_this.shared.allocated({.address = pointer, .nbytes = nbytes, .site = origin.site, .python = stack.python});
  const auto [node, in_backward] = running_node(origin.site);
  if (in_backward) t_this.ran_backward = true;
  const NewAllocation what = {pointer, nbytes, kind, device, node, in_backward};
  const Inserted made = g_allocations.add(what, origin);
  if (events_wanted()) note_allocated(made, what, origin.site);
  if (__builtin_expect(g_devices.perhaps_new_peak(device), false)) keep_new_peak();
  if (__builtin_expect(g_devices.grown(device), false)) tell_growth(nbytes, kind, device, origin, node);
  return origin;
}

// Whether this thread is in a backward pass: by its Python code, else a thread of the engine's, which has none.
// nullopt: not known, no stacks are recorded.
std::optional<bool> in_backward_pass() {
  if (stacks::not_recorded().now) return std::nullopt;
  const StackId python = stacks::capture_python_part();
  if (python == 0) return t_this.ran_backward;
  if (python != t_this.asked_python) {
    t_this.asked_in_backward = stacks::python_runs_engine(python);
    t_this.asked_python = python;
  }
  return t_this.asked_in_backward;
}

PeakEnd peak_end(Serial serial, bool made_in_backward) {
  const bool since = serial > backward_began();
  if (!made_in_backward && since) return serial > last_step_end() ? PeakEnd::before_backward : PeakEnd::later_step;
  if (made_in_backward && !since) return PeakEnd::after_backward;
  const std::optional<bool> in_backward = in_backward_pass();
  if (!in_backward) return PeakEnd::unknown;
  if (made_in_backward) return *in_backward ? PeakEnd::of_backward : PeakEnd::after_backward;
  if (*in_backward) return PeakEnd::in_backward;
  return serial <= last_step_end() ? PeakEnd::later_step : PeakEnd::unknown;
}

void freed(const void* pointer, AllocationKind kind, DeviceSlot device) {
  const FreedAllocation freed = g_allocations.remove(pointer, kind, device);
  const Serial serial = freed.removed.serial;
  if (__builtin_expect(serial != 0 && serial <= peak_serial(), false)) {
    g_sites.kept_gone(freed.site, freed.nbytes, peak_end(serial, freed.in_backward));
  }
  if (events_wanted()) note_removed(EventKind::freed, freed.removed);
}

}  // namespace

void disable_tensor_tracking() { g_tensor_tracking_disabled.store(true, std::memory_order_relaxed); }
bool tensor_tracking_is_disabled() { return g_tensor_tracking_disabled.load(std::memory_order_relaxed); }

void tensor_constructed(const void* impl, stacks::HookFrame hook) {
  SharedCapture& shared = t_this.shared;
  if (shared.is_newest(impl) || tensor_tracking_is_disabled()) return;
  g_tensors.prefetch(impl);
  const SiteId site = __builtin_expect(shared.constructed(impl), true) ? site_of_taker() : site_here(0, hook);
  g_tensors.add(impl, {t_this.clock.ns(), site, this_thread()}, shared.newest());
  if (events_wanted()) note_tensor(shared.newest());
}

void tensor_takes_storage(const void* impl, const void* const* storage) { t_this.shared.takes_storage(impl, storage); }

void tensor_released(const void* impl) {
  if (!events_wanted()) {
    g_tensors.mark_released(impl);
    return;
  }
  TensorEnd end(impl);
  end.note_released(g_tensors.mark_released(impl));
}
void tensor_destroyed(const void* impl) {
  if (!events_wanted()) {
    g_tensors.remove(impl);
    return;
  }
  TensorEnd end(impl);
  end.note_destroyed(g_tensors.remove(impl));
}
void untrack_tensor(const void* impl) {
  const Removed removed = g_tensors.forget(impl);
  if (events_wanted()) note_removed(EventKind::disregarded, removed);
}

void cpu_allocated(const void* pointer, size_t nbytes, stacks::HookFrame hook) {
  if (pointer != nullptr) allocated(pointer, nbytes, AllocationKind::heap, DeviceTable::kCpu, hook);
}

void cpu_freed(const void* pointer) {
  if (pointer != nullptr) freed(pointer, AllocationKind::heap, DeviceTable::kCpu);
}

void memory_reported(const void* pointer, int64_t delta, uint64_t total_allocated, uint64_t total_reserved,
                     Device device) {
  const DeviceSlot slot = g_devices.slot(device);
  if (slot == DeviceTable::kNone) return count_missed(Subject::cuda_memory);
  const bool cpu = slot == DeviceTable::kCpu;
  const AllocationKind kind = cpu ? AllocationKind::mapped : AllocationKind::caching;
  if (!cpu) {
    g_devices.mark_used_here(slot);
    const bool changed = g_devices.row(slot).reported_reserved.load(std::memory_order_relaxed) != total_reserved;
    g_devices.reported(slot, total_allocated, total_reserved);
    if (changed && events_wanted()) {
      note_now(EventKind::device_reported, {.a = total_allocated, .b = total_reserved, .aux = memory_word(0, device)});
    }
  }
  if (pointer == nullptr || delta == 0) return;
  if (delta < 0) return freed(pointer, kind, slot);
  if (cpu && (total_allocated != 0 || g_allocations.contains(pointer, slot))) return;
  allocated(pointer, uint64_t(delta), kind, slot);
}

void runtime_allocated(const RuntimeBlock& block) {
  const DeviceSlot slot = g_devices.slot(block.device);
  if (slot == DeviceTable::kNone) return count_missed(Subject::cuda_runtime);
  if (slot != DeviceTable::kCpu) g_devices.mark_used_here(slot);
  g_runtime_blocks.prefetch(block.pointer);
  const Origin origin = block.is_allocation ? allocated(block.pointer, block.nbytes, AllocationKind::runtime, slot)
                                            : Origin{t_this.clock.ns(), site_here(block.nbytes), this_thread()};
  const Inserted made = g_runtime_blocks.add(block, origin);
  if (events_wanted()) note_runtime(made, block, origin.site);
}

void runtime_freed(const void* pointer) {
  Removed removed;
  const RuntimeBlock block = g_runtime_blocks.remove(pointer, removed);
  if (events_wanted()) note_removed(EventKind::runtime_freed, removed);
  if (!block.is_allocation) return;
  freed(pointer, AllocationKind::runtime, g_devices.slot(block.device));
}

void gradient_edge_set(const void* impl, const void* node) {
  if (node == nullptr || g_nodes.knows(node)) return;
  if (__builtin_expect(backward_ran(), false) && running_node_address() == nullptr) forward_after_backward();
  g_nodes.prefetch(node);
  // The stack that made this very tensor a moment ago is that of the operation too.
  SharedCapture& shared = t_this.shared;
  const SiteId site = shared.is_newest(impl) ? shared.newest().site : site_here(0);
  g_sites.node_made(site);
  g_nodes.add(node, {t_this.clock.ns(), site, this_thread()});
}

void node_destroyed(const void* node) { g_nodes.remove(node); }

CallContext call_context() {
  const SiteId site = site_of(stacks::capture_in_any_case());
  const NodeId node = running_node(site).id;
  const Serial serial = g_nodes.serial(node);
  if (node != 0) g_nodes.drop(node);  // it runs, so its row stays
  return {site, this_thread(), serial};
}

ThreadId calling_thread() { return this_thread(); }

const void* running_node_address() {
  const CurrentNodeFunction current = g_current_node.load(std::memory_order_acquire);
  return current == nullptr ? nullptr : current();
}

void set_current_node_function(CurrentNodeFunction function) {
  g_current_node.store(function, std::memory_order_release);
}

void set_growth_function(GrowthFunction function) { g_growth.store(function, std::memory_order_relaxed); }

void set_facts_function(FactsFunction function) { g_facts.store(function, std::memory_order_relaxed); }

void step_seen(uint32_t number, uint32_t pass, uint8_t mode) {
  if (events_wanted()) note_now(EventKind::step, {.a = number, .b = pass, .aux = mode});
}

void failure_seen(Device device, uint64_t nbytes) {
  if (events_wanted()) note_now(EventKind::failure, {.b = nbytes, .aux = memory_word(0, device)});
}

bool start() { return g_sites.start() && g_threads.start(); }

void before_fork() { t_locked_for_fork = lock_everything(); }

void after_fork_in_parent() {
  if (t_locked_for_fork) unlock_everything();
}

void after_fork_in_child() {
  g_devices.begin_in_child();
  g_sites.begin_in_child();
  g_allocations.begin_in_child();
  begin_peak_in_child();
}

Serial fork_serial() { return g_fork_serial; }

}  // namespace tensorscope::live
