// SPDX-License-Identifier: Apache-2.0
#include "values_file/value_store.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "python/text_pool.h"
#include "support/clock.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/locks/futex.h"
#include "support/locks/mutex.h"
#include "support/log.h"
#include "support/signals_blocked.h"
#include "values_file/value_batch.h"
#include "values_file/value_writer.h"

namespace tensorscope::values_file {

namespace {

constexpr size_t kWakeBytes = size_t{4} << 20;   // waiting: the writer is woken
constexpr size_t kMaxBytes = size_t{256} << 20;  // waiting: elements are left out
constexpr size_t kMaxLosses = 32;
constexpr uint64_t kNsInMs = 1'000'000;
constexpr uint64_t kLongestWaitNs = 10'000'000'000;
constexpr uint64_t kLongestWaitAtExitNs = 1'000'000'000;

struct Store {
  Mutex lock;  // of all below but the file
  ValueBatch waiting;
  python::TextPool texts;
  uint64_t values = 0, calls = 0;
  LossRow losses[kMaxLosses] = {};
  size_t loss_rows = 0;
  bool losses_changed = false;
  bool finished = false;
  std::atomic<uint32_t> emptied{0};  // changes when the writer took what was waiting
  // A thread that ends the program requests a flush: numbers of the newest request, and of the newest served one.
  std::atomic<uint32_t> asked{0}, served{0}, flushes{0};
  std::atomic<bool> has_waiting{false};

  Mutex writing;  // of the file and what is known of it
  StoreSettings settings;
  ValueWriter writer{settings};
  PageArray<uint8_t> spare;  // of the elements before: memory that is in use need not be made again
  std::atomic<bool> much_waits{false};
  uint64_t flushed_ns = 0;
};

std::atomic<Store*> g_store{nullptr};

void count_under_lock(Store& store, const char* what, const char* detail) {
  for (size_t i = 0; i < store.loss_rows; ++i) {
    if (store.losses[i].what == what && store.losses[i].detail == detail) {
      ++store.losses[i].count;
      store.losses_changed = true;
      return;
    }
  }
  if (store.loss_rows == kMaxLosses) return;
  store.losses[store.loss_rows++] = {what, detail, 1};
  log(LogLevel::warning, "not recorded from here on, as a rule or at times: {}: {}", what, detail);
  store.losses_changed = true;
}

// 0: counted as lost.
uint64_t add_under_lock(Store& store, format::ValueRow& row, const ValueParts& parts) {
  ValueBatch& batch = store.waiting;
  if (batch.rows.size() >= kMaxRows) {
    count_under_lock(store, "values", "the disk is slower than the program");
    return 0;
  }
  bool elements = parts.elements && parts.view;
  if (elements && batch.bytes() > kMaxBytes) {
    elements = false;
    count_under_lock(store, "elements", "the disk is slower than the program");
  }
  row.mutate_serial(store.values + 1);
  if (row.thread() == 0) row.mutate_thread(thread_number());
  if (!batch.add_value(row, parts, elements)) {
    count_under_lock(store, "values", "not enough memory");
    return 0;
  }
  store.has_waiting.store(true, std::memory_order_relaxed);
  return ++store.values;
}

// Before its time.
void wake_writer(Store& store) {
  if (store.much_waits.exchange(true, std::memory_order_relaxed)) return;
  if (store.settings.wake_writer) store.settings.wake_writer();
}

// Until the writer has taken what is there, or has had its time.
void wait_for_room(Store& store) {
  const uint64_t until = monotonic_ns() + kLongestWaitNs;
  for (;;) {
    const uint32_t seen = store.emptied.load(std::memory_order_acquire);
    {
      const MutexGuard guard(store.lock);
      if (store.waiting.bytes() < kMaxBytes) return;
    }
    wake_writer(store);
    if (!futex_wait_until(store.emptied, seen, until)) return;
  }
}

// `writing` is held.
void write_waiting(Store& store) {
  if (store.writer.failed()) return;
  ValueBatch batch;
  LossRow losses[kMaxLosses];
  size_t loss_rows = 0;
  {
    const MutexGuard guard(store.lock);
    std::swap(batch, store.waiting);
    store.waiting.data = std::move(store.spare);
    batch.texts = store.texts.size();
    if (std::exchange(store.losses_changed, false)) {
      loss_rows = store.loss_rows;
      std::copy_n(store.losses, loss_rows, losses);
    }
  }
  futex_change_and_wake(store.emptied);
  if (batch.empty() && loss_rows == 0) return;
  const auto text = [&store](uint32_t id) {
    const MutexGuard guard(store.lock);
    return std::string(store.texts[id]);
  };
  if (!store.writer.write_texts(batch.texts, text) || !store.writer.write_batch(batch) ||
      (loss_rows != 0 && !store.writer.write_losses(losses, loss_rows))) {
    return;
  }
  if (batch.data.size() >= kWakeBytes) {
    batch.data.clear();
    store.spare = std::move(batch.data);
  }
  store.writer.keep_limit();
}

Store* make_store(StoreSettings settings) {
  auto* store = new (std::nothrow) Store;
  if (store) store->settings = std::move(settings);
  return store;
}

// A child has a file of its own, and what the parent has not written is the parent's. The old store may have been left
// in the middle of a change: it is given up, not freed.
FreshInChild g_fresh_store{[] {
  if (Store* const parents = g_store) g_store = make_store(parents->settings);
}};

thread_local uint32_t t_number = 0;
FreshInChild g_fresh_number{[] { t_number = 0; }};

}  // namespace

uint32_t thread_number() {
  if (t_number == 0) t_number = uint32_t(syscall(SYS_gettid));
  return t_number;
}

bool waits_when_full() {
  const Store* const store = g_store;
  return store && store->settings.wait_when_full;
}

void start_store(StoreSettings settings) { g_store = make_store(std::move(settings)); }

uint32_t text_id(std::string_view text) {
  Store* const store = g_store;
  if (!store) return 0;
  const MutexGuard guard(store->lock);
  const uint32_t id = store->texts.intern(text);
  if (id == 0 && !text.empty()) count_under_lock(*store, "names", "not enough memory");
  return id;
}

std::string text_of_id(uint32_t id) {
  Store* const store = g_store;
  if (!store) return "";
  char copy[512];
  size_t size = 0;
  {
    const MutexGuard guard(store->lock);
    const std::string_view text = store->texts[id];
    size = std::min(text.size(), sizeof copy);
    memcpy(copy, text.data(), size);
  }
  return std::string(copy, size);
}

uint64_t add_value(format::ValueRow row, const ValueParts& parts) {
  Store* const store = g_store;
  if (!store) return 0;
  if (store->settings.wait_when_full && parts.elements) wait_for_room(*store);
  uint64_t serial = 0;
  bool much = false;
  {
    const MutexGuard guard(store->lock);
    if (store->finished || store->writer.failed()) return 0;
    serial = add_under_lock(*store, row, parts);
    much = store->waiting.bytes() > kWakeBytes || store->waiting.rows.size() > kMaxRows / 2;
  }
  if (much) wake_writer(*store);
  return serial;
}

void add_call(const format::CallRow& row) {
  Store* const store = g_store;
  if (!store) return;
  bool much = false;
  {
    const MutexGuard guard(store->lock);
    if (store->finished || store->writer.failed()) return;
    format::CallRow own = row;
    if (own.thread() == 0) own.mutate_thread(thread_number());
    if (store->waiting.bytes() > kMaxBytes || !store->waiting.calls.push(own)) {
      return count_under_lock(*store, "calls", "the disk is slower than the program");
    }
    store->has_waiting.store(true, std::memory_order_relaxed);
    ++store->calls;
    much = store->waiting.bytes() > kWakeBytes;
  }
  if (much) wake_writer(*store);
}

void add_finding(const void* flatbuffer, size_t size) {
  Store* const store = g_store;
  if (!store) return;
  {
    const MutexGuard guard(store->lock);
    if (store->finished || store->writer.failed()) return;
    if (!store->waiting.add_finding(flatbuffer, size)) {
      return count_under_lock(*store, "findings", "not enough memory");
    }
  }
  if (store->settings.wake_writer) store->settings.wake_writer();
}

void count_loss(const char* what, const char* detail) {
  Store* const store = g_store;
  if (!store) return;
  const MutexGuard guard(store->lock);
  count_under_lock(*store, what, detail);
}

void flush() {
  Store* const store = g_store;
  if (!store) return;
  const SignalsBlocked blocked;
  const MutexGuard guard(store->writing);
  const uint64_t now = monotonic_ns();
  const bool early = now - store->flushed_ns < store->settings.flush_ms * kNsInMs;
  if (!store->much_waits.exchange(false, std::memory_order_relaxed) && early) return;
  store->flushed_ns = now;
  const uint32_t asked = store->asked.load(std::memory_order_acquire);
  store->has_waiting.store(false, std::memory_order_relaxed);
  run_or_abandon_on_oom([&] { write_waiting(*store); });
  store->served.store(asked, std::memory_order_release);
  futex_change_and_wake(store->flushes);
}

void flush_before_exit() {
  Store* const store = g_store;
  if (!store || !store->has_waiting.load(std::memory_order_relaxed) || store->writer.failed() ||
      !store->settings.wake_writer)
    return;
  const uint32_t asked = store->asked.fetch_add(1, std::memory_order_acq_rel) + 1;
  store->much_waits.store(true, std::memory_order_relaxed);
  store->settings.wake_writer();
  const uint64_t until = monotonic_ns() + kLongestWaitAtExitNs;
  for (;;) {
    const uint32_t seen = store->flushes.load(std::memory_order_acquire);
    if (int32_t(store->served.load(std::memory_order_acquire) - asked) >= 0) return;
    if (!futex_wait_until(store->flushes, seen, until)) return;
  }
}

uint64_t flush_interval_ms() {
  const Store* const store = g_store;
  return store ? store->settings.flush_ms : UINT64_MAX;
}

void finish_file(const std::vector<UnmatchedWatch>& unmatched) {
  Store* const store = g_store;
  if (!store) return;
  {
    const MutexGuard guard(store->lock);
    if (std::exchange(store->finished, true)) return;
  }
  for (const UnmatchedWatch& each : unmatched) {
    log(LogLevel::warning, "watch {} matched nothing", store->settings.watches[each.watch].text);
  }
  const SignalsBlocked blocked;
  const MutexGuard guard(store->writing);
  run_or_abandon_on_oom([&] {
    write_waiting(*store);
    const bool wanted = store->writer.exists() || !unmatched.empty();
    if (wanted && !store->writer.failed()) store->writer.write_end(unmatched);
  });
}

StoreTotals store_totals() {
  Store* const store = g_store;
  if (!store) return {};
  const MutexGuard guard(store->writing);
  return store->writer.totals();
}

}  // namespace tensorscope::values_file
