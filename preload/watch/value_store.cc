#include "watch/value_store.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "dump/appended_file.h"
#include "dump/chunk.h"
#include "dump/process_chunks.h"
#include "python/text_pool.h"
#include "support/clock.h"
#include "support/enough_memory.h"
#include "support/futex.h"
#include "support/message.h"
#include "support/mutex.h"
#include "support/options.h"
#include "support/page_array.h"
#include "support/process_info.h"
#include "support/signals_blocked.h"
#include "tensorscope/values_format.h"
#include "torch/metadata/shared_object_map.h"
#include "torch/metadata/tensor_layout.h"
#include "torch/metadata/torch_version.h"
#include "watch/element_numbers.h"

namespace tensorscope::watch {

namespace {

using format::ValueFlag;

constexpr size_t kWakeBytes = size_t{4} << 20;    // waiting: the writer is woken
constexpr size_t kMostBytes = size_t{256} << 20;  // waiting: elements are left out
constexpr size_t kMostRows = size_t{1} << 16;     // of one chunk, as its reader wants it
constexpr size_t kMostData = size_t{256} << 20;   // of one chunk
constexpr size_t kPieceBytes = size_t{4} << 20;   // of rows that are written together
constexpr size_t kMostLosses = 32;
constexpr uint64_t kNsInMs = 1'000'000;
constexpr uint64_t kLongestWaitNs = 10'000'000'000;
constexpr uint64_t kLongestWaitAtExitNs = 1'000'000'000;

struct LossRow {
  const char* what;
  const char* detail;
  uint64_t count;
};

struct SeriesRow {
  uint64_t value;  // its serial
  const char* what;
  size_t begin, count;  // in Batch::numbers
};

// What is waiting.
struct Batch {
  PageArray<format::ValueRow> rows;
  PageArray<format::ValueStatistics> statistics;
  PageArray<int64_t> sizes;
  PageArray<uint8_t> data;
  PageArray<SeriesRow> series;
  PageArray<double> numbers;
  PageArray<format::CallRow> calls;
  PageArray<uint8_t> findings;  // one after the other, each behind its size
  uint32_t texts = 0;           // how many the pool had
  size_t bytes() const {
    return data.size() + rows.size() * sizeof(format::ValueRow) + calls.size() * sizeof(format::CallRow) +
           numbers.size() * sizeof(double);
  }
};

const dump::FileKind kValuesFile = {".values", format::kValuesMagic, format::kValuesMajor, format::kValuesMinor};

struct Store {
  Mutex lock;  // of all below but the file
  Batch waiting;
  python::TextPool texts;
  uint64_t values = 0, calls = 0;
  LossRow losses[kMostLosses] = {};
  size_t loss_rows = 0;
  bool losses_changed = false;
  bool finished = false;
  std::atomic<uint32_t> emptied{0};  // changes when the writer took what was waiting
  // A thread that ends the program asks for a flush: numbers of the newest request, and of the newest that was served.
  std::atomic<uint32_t> asked{0}, served{0}, flushes{0};
  std::atomic<bool> has_waiting{false};

  Mutex writing;  // of the file and what is known of it
  StoreSettings settings;
  dump::AppendedFile file{kValuesFile};
  PageArray<uint8_t> spare;  // of the elements before: memory that is in use need not be made again
  uint32_t texts_written = 0;
  uint64_t values_written = 0, calls_written = 0, findings_written = 0;
  std::atomic<bool> failed{false};
  std::atomic<bool> much_waits{false};
  uint64_t flushed_ns = 0;
};

std::atomic<Store*> g_store{nullptr};

void say_failure(Store& store) {
  if (store.failed.exchange(true)) return;
  say("values are no longer recorded: could not %s %s: %s", store.file.failed(),
      store.file.exists() ? store.file.path() : "for values", strerror(store.file.error()));
}

void count_under_lock(Store& store, const char* what, const char* detail) {
  for (size_t i = 0; i < store.loss_rows; ++i) {
    if (store.losses[i].what == what && store.losses[i].detail == detail) {
      ++store.losses[i].count;
      store.losses_changed = true;
      return;
    }
  }
  if (store.loss_rows == kMostLosses) return;
  store.losses[store.loss_rows++] = {what, detail, 1};
  store.losses_changed = true;
}

format::ValueStatistics as_row(const Statistics& s, uint64_t hash) {
  return format::ValueStatistics(s.count, s.nan, s.positive_infinity, s.negative_infinity, s.zeros, s.minimum,
                                 s.maximum, s.mean, s.deviation, s.sum, s.l1, s.l2, hash);
}

struct Copying {
  uint8_t* at;
  size_t itemsize;
  int from, to;
};

void copy_piece(const void* elements, int64_t count, void* context) {
  auto* copying = static_cast<Copying*>(context);
  const size_t size = size_t(count) * copying->itemsize;
  memcpy(copying->at, elements, size);
  copying->at += size;
}

void convert_piece(const void* elements, int64_t count, void* context) {
  auto* copying = static_cast<Copying*>(context);
  const size_t stored = size_t(torch::element_size(copying->to));
  each_block_of_numbers(copying->from, elements, count, [&](const double* numbers, int64_t now) {
    elements_of(copying->to, numbers, now, copying->at);
    copying->at += size_t(now) * stored;
  });
}

bool append_elements(PageArray<uint8_t>& data, const TensorView& view, int stored_dtype) {
  const bool converted = stored_dtype != view.dtype;
  const size_t itemsize = size_t(converted ? torch::element_size(stored_dtype) : view.itemsize);
  uint8_t* const begin = data.add_unwritten(size_t(view.numel) * itemsize);
  if (!begin) return false;
  Copying copying = {begin, size_t(view.itemsize), view.dtype, stored_dtype};
  each_piece(view, converted ? convert_piece : copy_piece, &copying);
  return true;
}

bool append_series(Batch& batch, uint64_t value, std::span<const ValueParts::Series> all) {
  for (const ValueParts::Series& each : all) {
    const SeriesRow row = {value, each.what, batch.numbers.size(), each.count};
    if (!batch.numbers.append(each.numbers, each.count) || !batch.series.push(row)) return false;
  }
  return true;
}

// 0: counted as lost.
uint64_t add_under_lock(Store& store, format::ValueRow& row, const ValueParts& parts) {
  Batch& batch = store.waiting;
  if (batch.rows.size() >= kMostRows) {
    count_under_lock(store, "values", "the disk is slower than the program");
    return 0;
  }
  bool elements = parts.elements && parts.view;
  if (elements && batch.bytes() > kMostBytes) {
    elements = false;
    count_under_lock(store, "elements", "the disk is slower than the program");
  }
  auto flags = uint16_t(row.flags());
  bool good = true;
  if (parts.view) {
    row.mutate_shape(uint32_t(batch.sizes.size()));
    row.mutate_ndim(uint8_t(parts.view->ndim));
    good = batch.sizes.append(parts.view->sizes, size_t(parts.view->ndim));
  }
  if (good && parts.statistics) {
    row.mutate_statistics(uint32_t(batch.statistics.size()));
    flags |= uint16_t(ValueFlag::statistics);
    good = batch.statistics.push(as_row(*parts.statistics, parts.hash));
  }
  const size_t begin = batch.data.size();
  if (good && elements) {
    const TensorView& kept = parts.kept ? *parts.kept : *parts.view;
    if (parts.kept) {
      row.mutate_kept_shape(uint32_t(batch.sizes.size()));
      row.mutate_kept_ndim(uint8_t(kept.ndim));
      flags |= uint16_t(ValueFlag::sliced);
      good = batch.sizes.append(kept.sizes, size_t(kept.ndim));
    }
    good = good && append_elements(batch.data, kept, row.stored_dtype());
  } else if (good && !parts.text.empty()) {
    good = batch.data.append(reinterpret_cast<const uint8_t*>(parts.text.data()), parts.text.size());
  }
  if (elements || batch.data.size() > begin) {
    row.mutate_data_begin(begin);
    row.mutate_data_size(batch.data.size() - begin);
    flags |= uint16_t(ValueFlag::elements);
  }
  row.mutate_flags(flags);
  row.mutate_serial(store.values + 1);
  if (row.thread() == 0) row.mutate_thread(thread_number());
  if (!good || !append_series(batch, row.serial(), parts.series) || !batch.rows.push(row)) {
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
      if (store.waiting.bytes() < kMostBytes) return;
    }
    wake_writer(store);
    if (!futex_wait_until(store.emptied, seen, until)) return;
  }
}

// ---- the writer ---------------------------------------------------------------------------------------------------

class ValuesChunk {
 public:
  explicit ValuesChunk(uint32_t type, size_t expected = 4096) : builder_(expected), type_(type) {}
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }
  template <typename Table>
  bool append_to(Store& store, flatbuffers::Offset<Table> root) {
    builder_.FinishSizePrefixed(root);
    if (store.file.append(type_, builder_.GetBufferPointer(), builder_.GetSize())) return true;
    say_failure(store);
    return false;
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  uint32_t type_;
};

bool write_head(Store& store) {
  if (!store.file.create(dump::directory_of_files().c_str())) {
    say_failure(store);
    return false;
  }
  dump::DumpFacts facts;
  facts.reason = dump::Reason::call;
  facts.detail = "values";
  torch::SharedObjectMap modules;
  torch::TorchFunctions functions;
  if (modules.refresh()) {
    torch::resolve_torch_functions(functions);
    facts.torch_version = torch::torch_version(modules, functions);
  }
  dump::Chunk process(format::kProcess);
  process.builder().FinishSizePrefixed(dump::process_table(facts, "", monotonic_ns(), {}, process));
  if (!store.file.append(format::kProcess, process.builder().GetBufferPointer(), process.builder().GetSize())) {
    say_failure(store);
    return false;
  }
  ValuesChunk chunk(format::kWatches);
  std::vector<flatbuffers::Offset<format::Watch>> watches;
  for (const WatchText& watch : store.settings.watches) {
    auto text = chunk.builder().CreateString(watch.text);
    auto path = chunk.builder().CreateString(watch.path);
    auto origin = chunk.builder().CreateString(watch.origin);
    watches.push_back(format::CreateWatch(chunk.builder(), text, path, watch.full, origin));
  }
  auto rows = chunk.builder().CreateVector(watches);
  return chunk.append_to(store,
                         format::CreateWatches(chunk.builder(), rows, store.settings.find_nan, store.settings.calls));
}

bool write_texts(Store& store, uint32_t count) {
  if (store.texts_written >= count) return true;
  ValuesChunk chunk(format::kStrings);
  std::vector<flatbuffers::Offset<flatbuffers::String>> texts;
  for (uint32_t i = store.texts_written; i < count; ++i) {
    std::string text;
    {
      const MutexGuard guard(store.lock);
      text = store.texts[i];
    }
    if (!dump::Chunk::is_utf8(text.data(), text.size())) text = dump::Chunk::as_utf8(text.data(), text.size());
    texts.push_back(chunk.builder().CreateString(text));
  }
  auto values = chunk.builder().CreateVector(texts);
  if (!chunk.append_to(store, format::CreateStrings(chunk.builder(), values))) return false;
  store.texts_written = count;
  return true;
}

// The FlatBuffer of so many elements is that of few whose number has the same rest, but for two lengths: elements are
// written from where they are.
bool write_part_of_data(Store& store, const uint8_t* data, size_t size) {
  constexpr size_t kAlignment = 8;
  const size_t few = size % kAlignment;
  flatbuffers::FlatBufferBuilder b;
  b.FinishSizePrefixed(format::CreateValueData(b, b.CreateVector(data, few)));
  uint8_t* const begin = b.GetBufferPointer();
  const auto lengthen = [&](uint8_t* length) {
    flatbuffers::WriteScalar(length, uint32_t(flatbuffers::ReadScalar<uint32_t>(length) + (size - few)));
  };
  uint8_t* const vector = const_cast<uint8_t*>(
      reinterpret_cast<const uint8_t*>(flatbuffers::GetSizePrefixedRoot<format::ValueData>(begin)->data()));
  lengthen(begin);
  lengthen(vector);
  uint8_t* const elements = vector + sizeof(uint32_t);
  const dump::AppendedFile::Part parts[] = {{begin, size_t(elements - begin)},
                                    {data, size},
                                    {elements + few, size_t(begin + b.GetSize() - (elements + few))}};
  if (store.file.append(format::kValueData, parts)) return true;
  say_failure(store);
  return false;
}

bool write_data(Store& store, const uint8_t* data, size_t size) {
  for (size_t begin = 0; begin < size; begin += kMostData) {
    if (!write_part_of_data(store, data + begin, std::min(kMostData, size - begin))) return false;
  }
  return true;
}

// Where the parts of the rows begin, in the arrays of a batch.
struct PartsAt {
  size_t statistics, sizes, data;
};

bool has_part(const format::ValueRow& row, ValueFlag flag) { return (row.flags() & uint16_t(flag)) != 0; }

// Of the first row from `row` on that has each; `end` where none has.
PartsAt parts_at(const Batch& batch, size_t row, const PartsAt& end) {
  PartsAt at = end;
  bool statistics = false, sizes = false, data = false;
  for (; row < batch.rows.size() && !(statistics && sizes && data); ++row) {
    const format::ValueRow& each = batch.rows[row];
    if (!statistics && has_part(each, ValueFlag::statistics)) statistics = true, at.statistics = each.statistics();
    if (!sizes && each.ndim() != 0) sizes = true, at.sizes = each.shape();  // before kept_shape
    if (!data && has_part(each, ValueFlag::elements)) data = true, at.data = each.data_begin();
  }
  return at;
}

// Those of the values of these rows.
std::vector<flatbuffers::Offset<format::ValueSeries>> series_of(const Batch& batch, flatbuffers::FlatBufferBuilder& b,
                                                                size_t begin, size_t end) {
  std::vector<flatbuffers::Offset<format::ValueSeries>> all;
  const uint64_t first = batch.rows[begin].serial(), last = batch.rows[end - 1].serial();
  const auto* row = std::partition_point(batch.series.begin(), batch.series.end(),
                                         [&](const SeriesRow& each) { return each.value < first; });
  for (; row != batch.series.end() && row->value <= last; ++row) {
    auto what = b.CreateString(row->what);
    auto numbers = b.CreateVector(batch.numbers.begin() + row->begin, row->count);
    all.push_back(format::CreateValueSeries(b, row->value, what, numbers));
  }
  return all;
}

// A piece of rows with all that they have, so that a disk that becomes full costs one piece.
bool write_piece(Store& store, Batch& batch, size_t begin, size_t end, const PartsAt& from, const PartsAt& to) {
  for (size_t i = begin; i < end; ++i) {
    format::ValueRow& row = batch.rows[i];
    if (has_part(row, ValueFlag::statistics)) row.mutate_statistics(uint32_t(row.statistics() - from.statistics));
    if (row.ndim() != 0) row.mutate_shape(uint32_t(row.shape() - from.sizes));
    if (row.kept_ndim() != 0) row.mutate_kept_shape(uint32_t(row.kept_shape() - from.sizes));
    if (has_part(row, ValueFlag::elements)) row.mutate_data_begin(row.data_begin() - from.data);
  }
  if (!write_data(store, batch.data.begin() + from.data, to.data - from.data)) return false;
  ValuesChunk chunk(format::kValues, (end - begin) * sizeof(format::ValueRow) + 4096);
  flatbuffers::FlatBufferBuilder& b = chunk.builder();
  auto rows = b.CreateVectorOfStructs(batch.rows.begin() + begin, end - begin);
  auto statistics =
      b.CreateVectorOfStructs(batch.statistics.begin() + from.statistics, to.statistics - from.statistics);
  auto sizes = b.CreateVector(batch.sizes.begin() + from.sizes, to.sizes - from.sizes);
  auto series = b.CreateVector(series_of(batch, b, begin, end));
  if (!chunk.append_to(store, format::CreateValueBatch(b, rows, statistics, sizes, series))) return false;
  store.values_written += end - begin;
  return true;
}

bool write_values(Store& store, Batch& batch) {
  const PartsAt whole = {batch.statistics.size(), batch.sizes.size(), batch.data.size()};
  for (size_t begin = 0; begin < batch.rows.size();) {
    size_t bytes = 0, end = begin;
    do {
      bytes +=
          sizeof(format::ValueRow) + (has_part(batch.rows[end], ValueFlag::elements) ? batch.rows[end].data_size() : 0);
      ++end;
    } while (end < batch.rows.size() && bytes < kPieceBytes);
    const PartsAt from = parts_at(batch, begin, whole), to = parts_at(batch, end, whole);
    if (!write_piece(store, batch, begin, end, from, to)) return false;
    begin = end;
  }
  return true;
}

bool write_calls(Store& store, const Batch& batch) {
  for (size_t begin = 0; begin < batch.calls.size(); begin += kMostRows) {
    const size_t count = std::min(kMostRows, batch.calls.size() - begin);
    ValuesChunk chunk(format::kCalls, count * sizeof(format::CallRow) + 1024);
    auto rows = chunk.builder().CreateVectorOfStructs(batch.calls.data() + begin, count);
    if (!chunk.append_to(store, format::CreateCalls(chunk.builder(), rows))) return false;
    store.calls_written += count;
  }
  return true;
}

bool write_findings(Store& store, const Batch& batch) {
  for (size_t at = 0; at < batch.findings.size();) {
    uint64_t size;
    memcpy(&size, batch.findings.data() + at, sizeof size);
    if (!store.file.append(format::kNonFinite, batch.findings.data() + at + sizeof size, size)) {
      say_failure(store);
      return false;
    }
    ++store.findings_written;
    at += sizeof size + size;
  }
  return true;
}

bool write_losses(Store& store, const LossRow* losses, size_t count) {
  ValuesChunk chunk(format::kLosses);
  std::vector<flatbuffers::Offset<format::Loss>> rows;
  for (size_t i = 0; i < count; ++i) {
    auto what = chunk.builder().CreateString(losses[i].what);
    auto detail = chunk.builder().CreateString(losses[i].detail);
    rows.push_back(format::CreateLoss(chunk.builder(), what, losses[i].count, detail));
  }
  auto values = chunk.builder().CreateVector(rows);
  return chunk.append_to(store, format::CreateLosses(chunk.builder(), values));
}

// `writing` is held.
void write_waiting(Store& store) {
  if (store.failed) return;
  Batch batch;
  LossRow losses[kMostLosses];
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
  if (batch.rows.empty() && batch.calls.empty() && batch.findings.empty() && loss_rows == 0) return;
  if (!store.file.exists() && !write_head(store)) return;
  if (!write_texts(store, batch.texts) || !write_values(store, batch) || !write_calls(store, batch) ||
      !write_findings(store, batch) || (loss_rows != 0 && !write_losses(store, losses, loss_rows))) {
    return;
  }
  if (batch.data.size() >= kWakeBytes) {
    batch.data.clear();
    store.spare = std::move(batch.data);
  }
  if (store.file.bytes() > store.settings.most_bytes) {
    store.failed = true;
    say("values are no longer recorded: %s has reached its limit", store.file.path());
  }
}

Store* make_store(StoreSettings settings) {
  auto* store = new (std::nothrow) Store;
  if (store) store->settings = std::move(settings);
  return store;
}

}  // namespace

uint32_t thread_number() {
  static thread_local uint32_t number = 0;
  if (number == 0) number = uint32_t(syscall(SYS_gettid));
  return number;
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
    if (store->finished || store->failed) return 0;
    serial = add_under_lock(*store, row, parts);
    much = store->waiting.bytes() > kWakeBytes || store->waiting.rows.size() > kMostRows / 2;
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
    if (store->finished || store->failed) return;
    format::CallRow own = row;
    if (own.thread() == 0) own.mutate_thread(thread_number());
    if (store->waiting.bytes() > kMostBytes || !store->waiting.calls.push(own)) {
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
    if (store->finished || store->failed) return;
    const uint64_t length = size;
    PageArray<uint8_t>& findings = store->waiting.findings;
    const size_t before = findings.size();
    if (!findings.append(reinterpret_cast<const uint8_t*>(&length), sizeof length) ||
        !findings.append(static_cast<const uint8_t*>(flatbuffer), size)) {
      findings.resize(before);
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
  run_if_memory_lasts([&] { write_waiting(*store); });
  store->served.store(asked, std::memory_order_release);
  futex_change_and_wake(store->flushes);
}

void flush_before_exit() {
  Store* const store = g_store;
  if (!store || !store->has_waiting.load(std::memory_order_relaxed) || store->failed || !store->settings.wake_writer)
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
  const SignalsBlocked blocked;
  const MutexGuard guard(store->writing);
  run_if_memory_lasts([&] {
    write_waiting(*store);
    if (store->failed || (!store->file.exists() && (unmatched.empty() || !write_head(*store)))) return;
    if (!unmatched.empty()) {
      ValuesChunk chunk(format::kUnmatched);
      std::vector<flatbuffers::Offset<format::Unmatched>> rows;
      for (const UnmatchedWatch& each : unmatched) {
        std::vector<flatbuffers::Offset<flatbuffers::String>> names;
        for (const std::string& name : each.nearest) names.push_back(chunk.builder().CreateString(name));
        auto nearest = chunk.builder().CreateVector(names);
        rows.push_back(format::CreateUnmatched(chunk.builder(), each.watch, nearest));
      }
      auto values = chunk.builder().CreateVector(rows);
      if (!chunk.append_to(*store, format::CreateUnmatcheds(chunk.builder(), values))) return;
    }
    ValuesChunk chunk(format::kValuesEnd);
    chunk.append_to(*store, format::CreateValuesEnd(chunk.builder(), monotonic_ns(), store->file.chunks(),
                                                    store->values_written, store->calls_written));
  });
}

StoreTotals store_totals() {
  Store* const store = g_store;
  if (!store) return {};
  const MutexGuard guard(store->writing);
  return {store->values_written, store->calls_written, store->findings_written, store->file.bytes(),
          store->file.path()};
}

// The old one may have been left in the middle of a change: it is given up, not freed.
void reset_store_after_fork() {
  Store* const old = g_store;
  if (old) g_store = make_store(old->settings);
}

}  // namespace tensorscope::watch
