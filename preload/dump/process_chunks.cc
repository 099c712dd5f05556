// SPDX-License-Identifier: Apache-2.0
#include "dump/process_chunks.h"

#include <stdio.h>
#include <time.h>

#include <vector>

#include "dump/child_processes.h"
#include "dump/chunk.h"
#include "dump/heap_totals.h"
#include "dump/places.h"
#include "dump/string_table.h"
#include "dump/system_totals.h"
#include "live/preexisting_tensors.h"
#include "live/snapshot_view.h"
#include "live/step_marks.h"
#include "stacks/capture.h"
#include "stacks/python/python_stack.h"
#include "support/clock.h"
#include "support/coverage.h"
#include "support/options.h"
#include "support/process_info.h"
#include "support/state.h"
#include "support/system_limits.h"
#include "tensorscope/rules/number_text.h"

namespace tensorscope::dump {

namespace {

using Text = flatbuffers::Offset<flatbuffers::String>;

std::vector<Text> command_line(Chunk& chunk, const ProcessInfo& process) {
  std::vector<Text> arguments;
  if (options().confidential) return arguments;
  for (size_t i = 0; i < process.command_line_size;) {
    const char* argument = process.command_line + i;
    arguments.push_back(chunk.string(argument));
    i += strlen(argument) + 1;
  }
  return arguments;
}

std::vector<flatbuffers::Offset<format::KeyValue>> option_rows(Chunk& chunk) {
  std::vector<flatbuffers::Offset<format::KeyValue>> rows;
  visit_options([&](const char* name, const char* value, const char*) {
    auto key = chunk.string(name);
    auto text = chunk.string(value);
    rows.push_back(format::CreateKeyValue(chunk.builder(), key, text));
  });
  return rows;
}

// One line is enough to say that CUDA is not there.
bool worth_saying(Subject subject) {
  switch (subject) {
    case Subject::cuda_runtime:
    case Subject::device_memory:
      return coverage(Subject::cuda_memory).seen.load(std::memory_order_acquire) != Seen::not_applicable;
    case Subject::driver_memory:
      return options().cupti != CuptiMode::off;
    case Subject::launches:
      return options().cupti == CuptiMode::activity;
    case Subject::find_nan:
      return options().find_nan != FindNanMode::off;
    case Subject::descriptors:
      return coverage(Subject::descriptors).seen.load(std::memory_order_acquire) == Seen::no;
    default:
      return true;
  }
}

// What stop() left out.
template <size_t size>
const char* gap_words(const stacks::NotRecorded& gap, char (&text)[size]) {
  snprintf(text, size,
           "stopped %llu time%s by stop(), for %.1f s in all%s: tensors and memory were still tracked, but %llu stacks "
           "were not recorded",
           static_cast<unsigned long long>(gap.times), gap.times == 1 ? "" : "s", double(gap.ns) / 1e9,
           gap.now ? ", and is stopped now" : "", static_cast<unsigned long long>(gap.captures));
  return text;
}

// With what is in shared memory, which is a limit of its own.
template <size_t size>
const char* limits_words(const CoverageEntry& entry, char (&text)[size]) {
  const char* const watched = entry.detail.load();
  const LimitState shared = shared_memory();
  if (!shared.is_set()) return watched;
  snprintf(text, size, "%s%s%s: %s, %s left", watched != nullptr ? watched : "",
           watched != nullptr && *watched != 0 ? "; " : "", kSharedMemoryFolder, ByteText(shared.limit).c_str(),
           ByteText(shared.left).c_str());
  return text;
}

}  // namespace

flatbuffers::Offset<format::Process> process_table(const DumpFacts& facts, const char* place, uint64_t taken_ns,
                                                   const SerialRange& serials, Chunk& chunk) {
  const ProcessInfo& p = process_info();
  flatbuffers::FlatBufferBuilder& b = chunk.builder();
  auto program = chunk.string(p.program);
  auto executable = chunk.string(p.executable);
  auto arguments = b.CreateVector(command_line(chunk, p));
  auto directory = chunk.string(p.directory);
  auto host = chunk.string(options().confidential ? "" : p.host);
  auto run_id = chunk.string(p.run_id);
  auto detail = chunk.string(place[0] != 0 ? place : facts.detail);
  auto torch = chunk.string(facts.torch_version);
  auto python = chunk.string(stacks::python_version());
  auto version = chunk.string(TENSORSCOPE_VERSION);
  auto settings = b.CreateVector(option_rows(chunk));
  auto job = chunk.string(p.job);
  const live::Attach attach = live::attach_facts();
  auto earlier_detail = chunk.string(attach.detail);
  auto asked_by_run = chunk.string(facts.asked_by_run);

  format::ProcessBuilder process(b);
  process.add_pid(p.pid);
  process.add_parent_pid(p.parent_pid);
  process.add_forked_from(p.forked_from);
  process.add_program(program);
  process.add_executable(executable);
  process.add_command_line(arguments);
  process.add_working_directory(directory);
  process.add_host(host);
  process.add_run_id(run_id);
  process.add_start_unix_ns(p.start_unix_ns);
  process.add_start_ns(p.start_ns);
  process.add_dump_unix_ns(read_clock_ns(CLOCK_REALTIME) - (monotonic_ns() - taken_ns));
  process.add_dump_ns(taken_ns);
  process.add_trigger(format::Trigger(facts.reason));
  process.add_trigger_detail(detail);
  process.add_dump_number(facts.number);
  process.add_rank(p.rank);
  process.add_local_rank(p.local_rank);
  process.add_world_size(p.world_size);
  process.add_torch_version(torch);
  process.add_python_version(python);
  process.add_tensorscope_version(version);
  process.add_options(settings);
  process.add_snapshot_serial(serials.newest);
  process.add_fork_serial(serials.fork);
  process.add_step(facts.step);
  process.add_job(job);
  process.add_attached_ns(attach.ns);
  process.add_earlier_site(attach.site);
  process.add_earlier_tensors(attach.tensors);
  process.add_earlier_detail(earlier_detail);
  process.add_asked_by_run(asked_by_run);
  process.add_asked_by_dump(facts.asked_by_dump);
  return process.Finish();
}

bool write_process(const DumpFacts& facts, const live::SnapshotView& view, DumpFile& file) {
  char place[kPlaceBytes] = "";
  if (facts.site != 0 && facts.site < view.sites.size) {
    write_place(headline(view.sites[facts.site]), process_info().directory, place);
  }
  Chunk chunk(format::kProcess);
  return chunk.append_to(file, process_table(facts, place, view.taken_ns, {view.serial, view.fork_serial}, chunk));
}

bool write_totals(const DumpFacts& facts, const live::SnapshotView& view, ChunkSink& file) {
  std::vector<format::DeviceTotal> devices;
  for (const live::DeviceTotals& d : view.devices) {
    devices.emplace_back(d.live_bytes, d.peak_bytes, d.live_count, d.total_count, d.total_bytes, d.allocator_allocated,
                         d.allocator_reserved, d.allocator_reserved_peak, d.device.type, d.device.index);
  }
  const SystemTotals system = read_system_totals();
  const HeapTotals heap = read_heap_totals();
  Chunk chunk(format::kTotals);
  auto rows = chunk.builder().CreateVectorOfStructs(devices);
  format::TotalsBuilder totals(chunk.builder());
  totals.add_devices(rows);
  totals.add_tensors_live(view.tensors.size);
  totals.add_tensors_total(view.tensors_total);
  totals.add_resident_bytes(system.resident);
  totals.add_resident_peak_bytes(system.resident_peak);
  totals.add_cgroup_current(system.cgroup_current);
  totals.add_cgroup_limit(system.cgroup_limit);
  totals.add_machine_total(system.machine_total);
  totals.add_machine_available(system.machine_available);
  totals.add_profiler_bytes(live::profiler_memory());
  totals.add_stopped_ns(view.stopped_ns);
  totals.add_heap_in_use(heap.in_use);
  totals.add_heap_free(heap.free);
  const ChildProcesses& children = facts.children;
  totals.add_children_known(children.known);
  totals.add_children(children.count);
  totals.add_children_resident_bytes(children.resident);
  totals.add_children_private_bytes(children.private_bytes);
  totals.add_anonymous_bytes(system.anonymous);
  totals.add_file_bytes(system.file);
  totals.add_shared_bytes(system.shared);
  totals.add_phase1_ns(monotonic_ns() - facts.requested_ns);
  return chunk.append_to(file, totals.Finish());
}

bool write_steps(const live::SnapshotView& view, ChunkSink& file) {
  const live::StepMarks marks = live::step_marks(view.serial);
  if (marks.source == live::StepSource::none) return true;
  Chunk chunk(format::kSteps);
  return chunk.append_to(file, format::CreateStepsDirect(chunk.builder(), format::StepSource(marks.source), marks.count,
                                                         marks.every, &marks.ends, marks.last_end));
}

bool write_coverage(ChunkSink& file, const char* left_out) {
  Chunk chunk(format::kCoverage);
  std::vector<flatbuffers::Offset<format::Coverage>> rows;
  const auto add = [&](const char* subject, Seen seen, const char* detail, uint64_t missed) {
    auto name = chunk.string(subject);
    auto text = chunk.string(detail != nullptr ? detail : "");
    rows.push_back(format::CreateCoverage(chunk.builder(), name, format::Seen(seen), text, missed));
  };
  if (const char* why = off_reason()) add("recording", Seen::no, why, 0);
  if (left_out[0] != 0) add("parts of this dump", Seen::partly, left_out, 0);
  char detail[200];
  const stacks::NotRecorded gap = stacks::not_recorded();
  if (gap.times != 0) add("stacks while stopped", gap.now ? Seen::no : Seen::partly, gap_words(gap, detail), 0);
  for (size_t i = 0; i < size_t(Subject::count_); ++i) {
    if (!worth_saying(Subject(i))) continue;
    const CoverageEntry& entry = coverage(Subject(i));
    const bool limits = Subject(i) == Subject::low_memory;
    add(subject_name(Subject(i)), entry.seen.load(), limits ? limits_words(entry, detail) : entry.detail.load(),
        entry.missed.load());
  }
  return chunk.append_to(file, format::CreateCoveragesDirect(chunk.builder(), &rows));
}

bool write_names(const python::Names& names, DumpFile& file) {
  Chunk chunk(format::kNames);
  StringTable strings;
  std::vector<format::ModuleName> modules;
  for (const python::ModuleName& m : names.modules) {
    modules.emplace_back(m.object, strings.intern(m.path), strings.intern(m.class_name));
  }
  std::vector<Text> values;
  for (const std::string& value : strings.values()) values.push_back(chunk.string(value));
  auto detail = chunk.string(names.detail);
  auto texts = chunk.builder().CreateVector(values);
  auto rows = chunk.builder().CreateVectorOfStructs(modules);
  return chunk.append_to(file, format::CreateNames(chunk.builder(), names.complete, detail, texts, rows));
}

bool write_end(DumpFile& file) {
  Chunk chunk(format::kEnd);
  const uint32_t chunks = file.chunks();
  const uint64_t bytes = file.bytes();
  return chunk.append_to(file, format::CreateEndMark(chunk.builder(), chunks, bytes));
}

}  // namespace tensorscope::dump
