// SPDX-License-Identifier: Apache-2.0
#include "live/snapshot_view.h"

#include <algorithm>

#include "live/all_locks.h"
#include "live/allocation_table.h"
#include "live/device_table.h"
#include "live/node_table.h"
#include "live/runtime_table.h"
#include "live/serials.h"
#include "live/site_table.h"
#include "live/tensor_table.h"
#include "live/thread_table.h"
#include "live/tracker.h"
#include "support/clock.h"
#include "support/pages.h"
#include "support/state.h"

namespace tensorscope::live {

namespace {

constexpr int kAttempts = 6;

// How many rows of each table fit into one copy.
struct Rooms {
  size_t tensors, allocations, runtime_blocks, nodes, sites, threads, devices, points;

  static Rooms now() {
    return {g_tensors.size(), g_allocations.size(), g_runtime_blocks.size(), g_nodes.size(),
            g_sites.size(),   g_threads.size(),     DeviceTable::kSlots,     kHistoryPoints + 1};
  }
  bool hold(const Rooms& other) const {
    return tensors >= other.tensors && allocations >= other.allocations && runtime_blocks >= other.runtime_blocks &&
           nodes >= other.nodes && sites >= other.sites && threads >= other.threads;
  }
  // Room for what may come until the locks are held.
  Rooms with_reserve(int attempt) const {
    const auto more = [attempt](size_t rows) { return rows + (rows / 16 << attempt) + 1024; };
    return {more(tensors), more(allocations), more(runtime_blocks), more(nodes), more(sites), more(threads), devices,
            points};
  }
};

class Cutter {
 public:
  explicit Cutter(void* memory) : begin_(reinterpret_cast<uintptr_t>(memory)), next_(begin_) {}
  template <typename T>
  T* cut(size_t rows) {
    T* piece = reinterpret_cast<T*>(next_);
    next_ += (rows * sizeof(T) + 63) & ~size_t{63};
    return piece;
  }
  size_t used() const { return next_ - begin_; }

 private:
  uintptr_t begin_;
  uintptr_t next_;
};

struct Copies {
  TensorEntry* tensors;
  AllocationEntry* allocations;
  RuntimeEntry* runtime_blocks;
  NodeEntry* nodes;
  SiteCounters* sites;
  ThreadEntry* threads;
  DeviceTotals* devices;
  HistoryPoint* points;

  Copies(const Rooms& rooms, Cutter& cutter)
      : tensors(cutter.cut<TensorEntry>(rooms.tensors)),
        allocations(cutter.cut<AllocationEntry>(rooms.allocations)),
        runtime_blocks(cutter.cut<RuntimeEntry>(rooms.runtime_blocks)),
        nodes(cutter.cut<NodeEntry>(rooms.nodes)),
        sites(cutter.cut<SiteCounters>(rooms.sites)),
        threads(cutter.cut<ThreadEntry>(rooms.threads)),
        devices(cutter.cut<DeviceTotals>(rooms.devices)),
        points(cutter.cut<HistoryPoint>(rooms.points)) {}
};

size_t bytes_for(const Rooms& rooms) {
  Cutter cutter(nullptr);
  Copies measured(rooms, cutter);
  return cutter.used();
}

template <typename Entry>
Rows<Entry> in_serial_order(Entry* entries, size_t size) {
  std::sort(entries, entries + size, [](const Entry& a, const Entry& b) { return a.serial < b.serial; });
  return {entries, size};
}

}  // namespace

TableSizes table_sizes() {
  const Rooms rooms = Rooms::now();
  return {rooms.tensors, rooms.allocations, rooms.nodes, bytes_for(rooms.with_reserve(0))};
}

bool SnapshotView::take() {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Rooms rooms = Rooms::now().with_reserve(attempt);
    const size_t bytes = bytes_for(rooms);
    void* memory = map_pages_now(bytes);
    if (memory == nullptr) return false;
    Cutter cutter(memory);
    const Copies copies(rooms, cutter);

    const uint64_t begin = monotonic_ns();
    if (!lock_everything()) {
      unmap_pages(memory, bytes);
      return false;
    }
    const Rooms found = Rooms::now();
    size_t device_count = 0;
    const bool fits = rooms.hold(found);
    if (fits) {
      taken_ns = monotonic_ns();
      serial = newest_serial();
      g_tensors.copy(copies.tensors);
      g_allocations.copy(copies.allocations);
      g_runtime_blocks.copy(copies.runtime_blocks);
      g_nodes.copy(copies.nodes);
      g_sites.copy(copies.sites, found.sites);
      g_threads.copy(copies.threads, found.threads);
      device_count = g_allocations.copy_totals(copies.devices);
      history = {.points = copies.points};
      copy_history(history, taken_ns);
      peak = kept_peak();
    }
    unlock_everything();
    stopped_ns = monotonic_ns() - begin;
    if (!fits) {
      unmap_pages(memory, bytes);
      continue;
    }

    memory_ = memory;
    memory_size_ = bytes;
    tensors = in_serial_order(copies.tensors, found.tensors);
    allocations = in_serial_order(copies.allocations, found.allocations);
    runtime_blocks = in_serial_order(copies.runtime_blocks, found.runtime_blocks);
    nodes = in_serial_order(copies.nodes, found.nodes);
    sites = {copies.sites, found.sites};
    threads = {copies.threads, found.threads};
    devices = {copies.devices, device_count};
    for (const SiteCounters& site : sites) tensors_total += site.tensors_total;
    fork_serial = live::fork_serial();
    return true;
  }
  return false;
}

SnapshotView::~SnapshotView() { unmap_pages(memory_, memory_size_); }

void look_at_live(const Rows<TensorEntry>& tensors, size_t begin, size_t end, Look look) {
  constexpr size_t kAhead = 8;  // looks, each of which waits for memory
  constexpr size_t kCacheLine = 64;
  constexpr size_t kImplBytes = 192;  // of c10::TensorImpl; a prefetch does not mind whether it is there
  for (size_t i = begin; i < end; ++i) {
    if (i + kAhead < end) {
      const auto* ahead = static_cast<const char*>(tensors[i + kAhead].impl);
      g_tensors.prefetch(ahead);
      for (size_t at = 0; at < kImplBytes; at += kCacheLine) __builtin_prefetch(ahead + at);
    }
    // With recording off, destructors are not held up any more.
    if (!is_recording() || !g_tensors.look(tensors[i], look, i)) return;
  }
}

Serial node_serial_now(const void* node) { return g_nodes.serial_at(node); }
ThreadId node_thread_now(const void* node) { return g_nodes.thread_at(node); }

bool look_at_node(const void* node, FunctionRef<void()> look) { return is_recording() && g_nodes.look(node, look); }

bool nothing_is_alive() { return g_tensors.size() == 0 && g_allocations.size() == 0; }

uint64_t profiler_memory() { return mapped_bytes(); }

}  // namespace tensorscope::live
