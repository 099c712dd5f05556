// SPDX-License-Identifier: Apache-2.0
#include "recording/recording.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <vector>

#include "dump/chunk.h"
#include "dump/device_chunks.h"
#include "dump/process_chunks.h"
#include "dump/source/source_chunk.h"
#include "dump/table_chunks.h"
#include "dump/tensor_rows.h"
#include "live/event_log.h"
#include "live/serials.h"
#include "live/snapshot_view.h"
#include "live/tracker.h"
#include "recording/flush_writer.h"
#include "recording/seen_tensors.h"
#include "recording/table_growth.h"
#include "recording/tensor_facts.h"
#include "recording/window.h"
#include "recording_generated.h"
#include "support/clock.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/locks/futex.h"
#include "support/locks/mutex.h"
#include "support/message.h"
#include "support/options.h"
#include "support/state.h"
#include "support/ticks.h"
#include "tensorscope/recording_format.h"
#include "tensorscope/rules/number_text.h"
#include "torch/metadata/metadata.h"
#include "torch/metadata/torch_functions.h"
#include "torch/metadata/torch_version.h"

namespace tensorscope::recording {

namespace {

constexpr uint64_t kFlushMs = 500;
constexpr uint64_t kEarlyFlushMs = 20;
constexpr uint32_t kMaxEarlyFlushes = 200;
constexpr uint64_t kObjectsMs = 5000;  // between two looks at the loaded objects
constexpr size_t kMaxWaiting = size_t{96} << 20;
constexpr size_t kMaxSamples = 2048;  // tensors that show where torch keeps what
constexpr uint64_t kLongestWaitAtExitNs = 1'000'000'000;
constexpr uint64_t kLookAtGrowthNs = 30'000'000'000, kMuchAnHour = uint64_t{2} << 30;

struct Recorder {
  Window file{options().record_last};
  TableGrowth tables;
  torch::SharedObjectMap objects;
  uint64_t objects_ns = 0;
  torch::MetadataReader reader;
  TickClock clock;
  std::vector<uint8_t> bytes;
  SeenTensors tensors;
  uint32_t segments = 0;
  uint64_t lost = 0;
  uint64_t flushed_ns = 0;
  bool failed = false, finished = false, growth_looked_at = false;
};

constinit Mutex g_writing;
std::atomic<bool> g_on{false};
// The recording ended by an error, and nobody switched it off: what was in its way may not be in a child's.
std::atomic<bool> g_given_up{false};
// In a forked child as in its parent.
bool g_held GUARDED_BY(g_writing) = false;
bool g_on_afterwards GUARDED_BY(g_writing) = false;
void (*g_wake)() = nullptr;

// A forked child has a recording of its own. The parent's recorder stays where it is, with the memory that is copied.
struct Recording {
  Recorder* recorder = nullptr;  // made at the first need; g_writing is held
  std::atomic<bool> begun{false};
  std::atomic<bool> from_start{false};  // the tables were empty when recording began
  // What was alive at the fork that made this process, until the file begins with it.
  std::atomic<live::SnapshotView*> at_fork{nullptr};
  std::atomic<uint64_t> begin_ns{0}, begin_ticks{0};
  std::atomic<bool> much_waits{false};
  std::atomic<uint32_t> flushes{0};  // into the file
  std::atomic<bool> exits{false};    // a thread waits in _exit
  std::atomic<uint32_t> exit_served{0};
};
constinit Recording g_recording;
FreshInChild g_fresh_recording{g_recording};

void much_waits() {
  if (!g_recording.much_waits.exchange(true, std::memory_order_relaxed) && g_wake) g_wake();
}

template <typename Sink>
bool append_end(Recorder& recorder, const char* why, Sink append) {
  dump::Chunk chunk(format::kRecordingEnd);
  auto reason = chunk.string(why);
  chunk.builder().FinishSizePrefixed(format::CreateRecordingEnd(chunk.builder(), monotonic_ns(), recorder.file.chunks(),
                                                                recorder.file.events(), live::lost_events(), reason));
  return append(format::kRecordingEnd, chunk.builder().GetBufferPointer(), chunk.builder().GetSize());
}

// The file says by its end why there is no more, where there is room for so much.
void end_early(Recorder& recorder, const Window::Failure& failure) {
  char why[160];
  snprintf(why, sizeof(why), "%s%s: %s", format::kCutShort, failure.what, strerror(failure.error));
  append_end(recorder, why, [&](uint32_t type, const void* payload, size_t length) {
    return recorder.file.append_last(type, payload, length);
  });
}

void give_up(Recorder& recorder) {
  if (recorder.failed) return;
  recorder.failed = true;
  if (g_on.exchange(false)) g_given_up.store(true);
  live::want_no_events();
  if (!recorder.file.exists()) return;
  const Window::Failure failure = recorder.file.failure();
  if (failure.error != 0) {
    say("the recording ends here: could not %s %s: %s", failure.what, *failure.path != 0 ? failure.path : "for it",
        strerror(failure.error));
  }
  recorder.file.end_next();
  if (failure.error != 0) run_or_abandon_on_oom([&] { end_early(recorder, failure); });
}

bool write_head(Recorder& recorder, dump::ChunkSink& file) {
  dump::DumpFacts facts;
  facts.reason = dump::Reason::call;
  facts.detail = "recording";
  facts.torch_version = torch::torch_version(recorder.objects, recorder.reader.torch());
  dump::Chunk chunk(format::kProcess);
  const auto process =
      dump::process_table(facts, "", g_recording.begin_ns.load(), {live::newest_serial(), live::fork_serial()}, chunk);
  return chunk.append_to(file, process);
}

// The one tensor that stands for "no tensor" in the whole process. libtorch makes it when it is loaded.
void leave_out_undefined_tensor() {
  if (const void* none = torch::undefined_tensor()) live::untrack_tensor(none);
}

void refresh_objects(Recorder& recorder, const live::SnapshotView& view) {
  leave_out_undefined_tensor();
  recorder.objects_ns = monotonic_ns();
  if (!recorder.objects.refresh() || !recorder.reader.start(&recorder.objects)) return;
  dump::learn_layout(view, recorder.reader);
  learn_facts(view, recorder.reader);
}

bool write_tensors(Recorder& recorder, const live::SnapshotView& view, dump::ChunkSink& file) {
  torch::MetadataReader* reader = recorder.reader.layout_known() ? &recorder.reader : nullptr;
  std::vector<uint64_t> grad_fns;
  return dump::write_tensors(view, reader, recorder.tables.strings(), file, {grad_fns, nullptr});
}

// `view` empty: nothing was alive.
bool write_segment(Recorder& recorder, const live::SnapshotView& view, format::SegmentReason reason,
                   dump::ChunkSink& file) {
  std::vector<format::Site> sites;
  sites.reserve(view.sites.size);
  for (const live::SiteCounters& s : view.sites) {
    sites.emplace_back(s.tensors_live, s.tensors_total, s.allocations_live, s.allocations_total, s.bytes_live,
                       s.bytes_total, s.bytes_peak, s.native, s.python);
  }
  std::vector<format::DeviceTotal> devices;
  for (const live::DeviceTotals& d : view.devices) {
    devices.emplace_back(d.live_bytes, d.peak_bytes, d.live_count, d.total_count, d.total_bytes, d.allocator_allocated,
                         d.allocator_reserved, d.allocator_reserved_peak, d.device.type, d.device.index);
  }
  dump::Chunk chunk(format::kSegment);
  auto site_rows = chunk.builder().CreateVectorOfStructs(sites);
  auto device_rows = chunk.builder().CreateVectorOfStructs(devices);
  const uint64_t begin = view.taken_ns != 0 ? view.taken_ns : g_recording.begin_ns.load();
  const bool told = reason != format::SegmentReason::window;  // the next flush writes it to both files
  const uint64_t newly_lost = told ? live::lost_events() - recorder.lost : 0;
  const auto segment =
      format::CreateRecordingSegment(chunk.builder(), ++recorder.segments, reason, begin, view.serial, newly_lost,
                                     recorder.flushed_ns, site_rows, device_rows, view.tensors_total);
  recorder.lost += newly_lost;
  if (!chunk.append_to(file, segment)) return false;
  if (view.tensors.size == 0 && view.allocations.size == 0 && view.runtime_blocks.size == 0) return true;
  return recorder.tables.write(recorder.file) && dump::write_allocations(view, file) &&
         dump::write_runtime_blocks(view, file) && write_tensors(recorder, view, file) &&
         recorder.tables.write_strings(recorder.file);
}

// What lives from one flush to the next is read while it lives; what else is of interest comes with its end.
bool write_living(Recorder& recorder, FlushWriter& writer, SeenTensors::Extent extent) {
  const bool needs_objects =
      monotonic_ns() - recorder.objects_ns > kObjectsMs * 1'000'000 || !recorder.reader.layout_known();
  if (needs_objects || !facts_are_known()) {
    const std::vector<live::TensorEntry> newest = recorder.tensors.newest(kMaxSamples);
    live::SnapshotView view;
    view.tensors = {newest.data(), newest.size()};
    // No tensor may have been alive when the layout was found.
    needs_objects ? refresh_objects(recorder, view) : learn_facts(view, recorder.reader);
  }
  if (!recorder.reader.layout_known()) return true;
  std::vector<format::RecordedEvent> seen;
  std::vector<live::TensorEntry> others;
  recorder.tensors.look(recorder.reader, extent, seen, others);
  if (!writer.add(seen)) return false;
  if (others.empty()) return true;
  live::SnapshotView view;
  view.tensors = {others.data(), others.size()};
  view.fork_serial = live::fork_serial();
  return write_tensors(recorder, view, recorder.file) && recorder.tables.write_strings(recorder.file);
}

bool begin_file(Recorder& recorder) {
  const std::unique_ptr<live::SnapshotView> at_fork(g_recording.at_fork.exchange(nullptr));
  live::SnapshotView now;
  const live::SnapshotView& view = at_fork ? *at_fork : now;
  const bool whole = g_recording.from_start.load(std::memory_order_relaxed) && recorder.segments == 0;
  leave_out_undefined_tensor();
  if (!whole && !at_fork && !now.take()) return false;
  refresh_objects(recorder, view);
  if (!recorder.file.exists() && (!recorder.file.begin(monotonic_ns()) || !write_head(recorder, recorder.file))) {
    return false;
  }
  const auto reason = recorder.segments == 0 ? format::SegmentReason::begin : format::SegmentReason::on;
  recorder.tensors.begin(view);
  return recorder.tables.write_objects(recorder.objects, recorder.file) &&
         write_segment(recorder, view, reason, recorder.file);
}

// Said once, while there is time to choose otherwise.
void look_at_growth(Recorder& recorder, uint64_t now) {
  const uint64_t elapsed = now - g_recording.begin_ns.load();
  if (recorder.growth_looked_at || elapsed < kLookAtGrowthNs) return;
  recorder.growth_looked_at = true;
  const double hourly = double(recorder.file.bytes()) * 3600e9 / double(elapsed);
  if (options().record_last.is_set() || options().quiet || hourly < double(kMuchAnHour)) return;
  say("%s grows by about %s an hour; TENSORSCOPE_RECORD_LAST=2GiB would keep the last part only", recorder.file.path(),
      ByteText(uint64_t(hourly)).c_str());
}

// Moves the window on. Between two flushes: what is in the tables now is not among the events of the next one.
bool move_window(Recorder& recorder) {
  const uint64_t now = monotonic_ns();
  if (!recorder.file.move(now)) return false;
  if (!recorder.file.wants_next(now)) return true;
  live::SnapshotView view;
  if (!view.take()) return false;
  refresh_objects(recorder, view);
  if (!recorder.tables.write(recorder.file)) return false;
  dump::ChunkSink* const next = recorder.file.begin_next(now);
  if (!next || !write_head(recorder, *next) || !dump::write_shared_objects(recorder.objects, *next) ||
      !recorder.tables.write_again(*next) || !write_segment(recorder, view, format::SegmentReason::window, *next)) {
    return false;
  }
  if (recorder.file.next_has_begun()) return true;
  say("the recording ends here: what is alive at one moment takes more than 3/4 of TENSORSCOPE_RECORD_LAST");
  return false;
}

bool write_events(Recorder& recorder, SeenTensors::Extent extent) {
  g_recording.flushes.fetch_add(1, std::memory_order_relaxed);
  const Serial serial = live::newest_serial();
  live::EventsEnd ends[live::kEventLanes];
  for (unsigned i = 0; i < live::kEventLanes; ++i) ends[i] = live::events_end(i);
  recorder.clock.read();
  const uint64_t now = monotonic_ns();
  const uint64_t lost = live::lost_events();
  bool ok = recorder.tables.write(recorder.file);
  const uint32_t number = g_recording.flushes.load(std::memory_order_relaxed);
  FlushWriter writer({number, serial, recorder.flushed_ns, now}, recorder.clock, recorder.file, recorder.tensors,
                     recorder.bytes);
  for (unsigned i = 0; i < live::kEventLanes; ++i) ok = writer.add(i, ends[i]) && ok;
  ok = ok && write_living(recorder, writer, extent) && recorder.tables.write_objects(recorder.objects, recorder.file);
  if (ok && lost != recorder.lost) {
    live::SnapshotView view;
    ok = view.take() && write_segment(recorder, view, format::SegmentReason::lost, recorder.file);
    if (ok) recorder.tensors.begin(view);
  }
  recorder.flushed_ns = now;
  if (ok) look_at_growth(recorder, now);
  return ok;
}

// g_writing is held.
Recorder* recorder_now() {
  if (!g_recording.recorder) g_recording.recorder = new Recorder;
  return g_recording.recorder;
}

void write_what_waits(SeenTensors::Extent extent) {
  bool ok = true;
  g_recording.much_waits.store(false, std::memory_order_relaxed);
  const bool lasted = run_or_abandon_on_oom([&] {
    Recorder& recorder = *recorder_now();
    if (recorder.failed || recorder.finished) return;
    if (recorder.segments == 0) {
      recorder.clock.begin(g_recording.begin_ticks.load(), g_recording.begin_ns.load());
      recorder.flushed_ns = g_recording.begin_ns.load();
      ok = begin_file(recorder);
    }
    ok = ok && write_events(recorder, extent) && move_window(recorder);
    if (!ok) give_up(recorder);
  });
  if (lasted) return;
  g_on.store(false);
  live::want_no_events();
  say("the recording ends here: not enough memory to write it");
}

// Until it is known how a tensor's shape is read, what dies between two flushes is recorded without.
uint64_t interval_ms() {
  return facts_are_known() || g_recording.flushes.load() >= kMaxEarlyFlushes ? kFlushMs : kEarlyFlushMs;
}

bool is_due(uint64_t now) {
  return g_recording.much_waits.load(std::memory_order_relaxed) || !g_recording.recorder ||
         now - g_recording.recorder->flushed_ns >= interval_ms() * 1'000'000;
}

// Of every line that allocated something, those that allocated the most first.
bool write_source_lines(Recorder& recorder) {
  live::SnapshotView view;
  if (!view.take()) return true;
  std::vector<SiteId> sites(view.sites.size);
  std::iota(sites.begin(), sites.end(), SiteId{0});
  std::stable_sort(sites.begin(), sites.end(),
                   [&](SiteId a, SiteId b) { return view.sites[a].bytes_total > view.sites[b].bytes_total; });
  dump::SourceLines lines;
  lines.start(view, sites);
  return lines.write(recorder.file);
}

// g_writing is held.
void write_end(const char* why) {
  const bool was_on = g_on.exchange(false);
  if (!was_on && !g_recording.recorder) return;
  live::want_no_events();
  if (was_on) write_what_waits(SeenTensors::Extent::all);
  if (!g_recording.recorder || g_recording.recorder->failed || g_recording.recorder->finished) return;
  g_recording.recorder->finished = true;
  run_or_abandon_on_oom([&] {
    Recorder& recorder = *g_recording.recorder;
    recorder.file.end_next();
    if (!write_source_lines(recorder) || !dump::write_coverage(recorder.file)) return give_up(recorder);
    const bool ended = append_end(recorder, why, [&](uint32_t type, const void* payload, size_t length) {
      return recorder.file.append(type, payload, length);
    });
    if (!ended) return give_up(recorder);
    if (!options().quiet) {
      say("wrote %s (%s, %s)", recorder.file.path(), CountText(recorder.file.events(), "event").c_str(),
          ByteText(recorder.file.bytes()).c_str());
    }
  });
}

void begin() {
  g_recording.begin_ticks.store(read_ticks());
  g_recording.begin_ns.store(monotonic_ns());
  call_for_facts(much_waits);
  live::set_facts_function(read_facts);
  live::want_events(kMaxWaiting, much_waits);
  g_recording.begun.store(true, std::memory_order_release);
  g_on.store(true);
}

}  // namespace

void start(void (*wake_writer)()) {
  g_wake = wake_writer;
  if (!options().record) return;
  g_recording.from_start.store(true);
  begin();
}

namespace {

// g_writing is held.
void on() {
  if (g_on.load() || (g_recording.recorder && (g_recording.recorder->failed || g_recording.recorder->finished))) return;
  begin();
  g_recording.from_start.store(false);
  run_or_abandon_on_oom([] {
    Recorder& recorder = *recorder_now();
    recorder.clock.begin(g_recording.begin_ticks.load(), g_recording.begin_ns.load());
    recorder.flushed_ns = g_recording.begin_ns.load();
    if (!begin_file(recorder)) give_up(recorder);
  });
}

void off() {
  g_given_up.store(false);
  if (!g_on.exchange(false)) return;
  live::want_no_events();
  write_what_waits(SeenTensors::Extent::all);
}

void switch_to(bool wanted) {
  const MutexGuard guard(g_writing);
  if (g_held) {
    g_on_afterwards = wanted;
  } else {
    wanted ? on() : off();
  }
}

}  // namespace

void switch_on() { switch_to(true); }
void switch_off() { switch_to(false); }

void hold() {
  const MutexGuard guard(g_writing);
  if (std::exchange(g_held, true)) return;
  const bool wanted = g_on.load() || g_given_up.load();
  off();
  g_on_afterwards = wanted;
}

void go_on() {
  const MutexGuard guard(g_writing);
  if (std::exchange(g_held, false) && g_on_afterwards) on();
}

bool is_on() { return g_on.load(); }
bool has_begun() { return g_recording.begun.load(std::memory_order_acquire); }

void flush() {
  if (!g_on.load(std::memory_order_relaxed)) return;
  const MutexGuard guard(g_writing);
  if (g_recording.exits.load(std::memory_order_acquire)) {
    write_end("_exit");
    g_recording.exit_served.store(1, std::memory_order_release);
    return futex_change_and_wake(g_recording.exit_served);
  }
  if (g_on.load() && is_due(monotonic_ns())) write_what_waits(SeenTensors::Extent::share);
}

void flush_now() {
  if (!g_on.load(std::memory_order_relaxed)) return;
  const MutexGuard guard(g_writing);
  if (g_on.load()) write_what_waits(SeenTensors::Extent::all);
}

uint64_t flush_interval_ms() { return g_on.load(std::memory_order_relaxed) ? interval_ms() : UINT64_MAX; }

void finish() {
  const MutexGuard guard(g_writing);
  write_end("end of the program");
}

void flush_before_exit() {
  if (!g_on.load(std::memory_order_relaxed) || !g_wake) return;
  g_recording.exits.store(true, std::memory_order_release);
  g_wake();
  const uint64_t until = monotonic_ns() + kLongestWaitAtExitNs;
  std::atomic<uint32_t>& served = g_recording.exit_served;
  while (served.load(std::memory_order_acquire) == 0 && futex_wait_until(served, 0, until)) {
  }
}

void after_fork_in_child() {
  const bool given_up = g_given_up.exchange(false);
  if (!g_on.load() && !given_up) return;
  run_or_abandon_on_oom([] {
    auto view = std::make_unique<live::SnapshotView>();
    if (view->take()) g_recording.at_fork.store(view.release());
  });
  begin();
}

}  // namespace tensorscope::recording
