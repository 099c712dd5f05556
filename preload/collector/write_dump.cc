// SPDX-License-Identifier: Apache-2.0
#include "collector/write_dump.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <memory>
#include <utility>

#include "collector/child_dumps.h"
#include "collector/dump_budget.h"
#include "collector/features.h"
#include "collector/refusal.h"
#include "collector/written_dumps.h"
#include "dump/cupti_chunks.h"
#include "dump/device_chunks.h"
#include "dump/disk_limit.h"
#include "dump/dump_name.h"
#include "dump/failure_chunk.h"
#include "dump/fork_gate.h"
#include "dump/graph_chunk.h"
#include "dump/groups_chunk.h"
#include "dump/history_chunks.h"
#include "dump/mappings.h"
#include "dump/memory_chunk.h"
#include "dump/process_chunks.h"
#include "dump/references_chunk.h"
#include "dump/source/source_chunk.h"
#include "dump/table_chunks.h"
#include "dump/tensor_rows.h"
#include "live/snapshot_view.h"
#include "live/tracker.h"
#include "oom/short_report.h"
#include "python/bridge.h"
#include "stacks/capture.h"
#include "support/clock.h"
#include "support/copy_text.h"
#include "support/coverage.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/log.h"
#include "support/message.h"
#include "support/options.h"
#include "support/pages.h"
#include "support/process_info.h"
#include "support/state.h"
#include "tensorscope/rules/number_text.h"
#include "torch/graph/graph_reader.h"
#include "torch/metadata/torch_version.h"

namespace tensorscope::collector {

namespace {

// Lives across dumps (the layout, once learned) and is too large for a small stack.
torch::MetadataReader g_metadata_reader;
dump::DumpFile* g_open_file = nullptr;
HookCheck g_hook_check = {[] {}, [] { return false; }};

// The parent may be in the middle of a dump.
FreshInChild g_fresh_dump{[] {
  if (g_open_file != nullptr) g_open_file->forget_in_child();
  g_open_file = nullptr;
}};

struct Summary {
  size_t tensors = 0;
  uint64_t live_bytes = 0;
};

constexpr char kTooLittleLeft[] = "too little memory is left";
constexpr char kNoMemory[] = "no dump: not enough memory to write one";

// What phase 1 works on, kept apart from the work: it outlives work that is abandoned when memory runs out.
struct Tables {
  live::SnapshotView view;
  torch::SharedObjectMap objects;
  torch::MetadataReader* reader = nullptr;  // null: torch's objects are not to be looked at
  std::vector<uint64_t> grad_fns;           // of live tensors
  python::TensorSizes sizes;                // the same, as far as there was memory
  dump::TensorFactRows facts;               // for the short report, where one is wanted
  bool facts_known = false;
  DumpPlan plan;
  LeftOut left_out;
  dump::SharedFiles shared;
  cupti::Activity cupti;
  devices::DriverAnswers driver;  // about CUDA devices, wanted at the end
};

// A failure that torch's allocator did not report may have been thrown with its lock held, by a thread that waits for
// this dump.
bool may_lock_the_allocator(const DumpRequest& request) {
  return request.failure != nullptr && request.failure->kind == dump::Kind::device &&
         request.failure->allocator_allocated == 0 && request.failure->allocator_reserved == 0;
}

bool short_report_wanted(const DumpRequest& request) {
  return request.failure != nullptr && options().oom_report && !options().quiet;
}

bool write_tables(const dump::DumpFacts& facts, Tables& tables, dump::DumpFile& file, Summary& summary) {
  const live::SnapshotView& view = tables.view;
  dump::DumpFacts full = facts;
  torch::MetadataReader*& reader = tables.reader;
  if (g_metadata_reader.start(&tables.objects) && g_hook_check.destruction_is_seen()) {
    reader = &g_metadata_reader;
    dump::learn_layout(view, g_metadata_reader);
  }
  full.torch_version = torch::torch_version(tables.objects, g_metadata_reader.torch());
  for (const live::DeviceTotals& device : view.devices) summary.live_bytes += device.live_bytes;
  summary.tensors = view.tensors.size;

  dump::StringTable strings;
  std::vector<uint64_t> grad_fns;
  const dump::KeptOfTensors kept = {grad_fns, tables.plan.sizes ? &tables.sizes : nullptr, &tables.facts};
  const bool ok = dump::write_process(full, view, file) &&
                  (full.failure == nullptr || dump::write_failure_chunk(*full.failure, file)) &&
                  dump::write_shared_objects(tables.objects, file) &&
                  dump::write_tensors(view, reader, strings, file, kept) && dump::write_allocations(view, file) &&
                  dump::write_runtime_blocks(view, file) && dump::write_nodes(view, reader, strings, file) &&
                  dump::write_stacks(view, file) && dump::write_codes(strings, file) &&
                  dump::write_threads(view, strings, file) && dump::write_totals(full, view, file) &&
                  dump::write_steps(view, file) && dump::write_history(view, file) && dump::write_peak(view, file) &&
                  dump::write_cupti(tables.cupti, file) && dump::write_strings(strings, file);
  tables.grad_fns = std::move(grad_fns);
  return ok;
}

// False: not even the rows would fit, and a line has said so.
bool plan(const DumpRequest& request, Tables& tables, dump::DumpFile& file) {
  const live::TableSizes sizes = live::table_sizes();
  const MemoryRoom room = MemoryRoom::now();
  tables.plan = plan_dump({sizes.copy_bytes, sizes.tensors, sizes.allocations, sizes.nodes,
                           options().names && request.names, short_report_wanted(request), file.is_in_memory()},
                          room);
  const bool names = options().names && request.names;
  if (tables.plan.rows && names && !tables.plan.sizes) tables.left_out.add("the order of names by size", room);
  if (room.is_tight()) file.write_through();
  if (tables.plan.rows) return true;
  refuse(request, "no dump: it needs about %s for %s, and only %s is left %s", ByteText(tables.plan.rows_need).c_str(),
         CountText(sizes.tensors, "tensor").c_str(), ByteText(room.left).c_str(), place_of(room.limit));
  return false;
}

bool phase1(const DumpRequest& request, const dump::DumpFacts& facts, Tables& tables, dump::DumpFile& file,
            Summary& summary) {
  const dump::ForkGateScope gate;
  if (!gate) {
    refuse(request, "no dump: a fork of this process has not finished for %u s", dump::kGatePatienceMs / 1000);
    return false;
  }
  stacks::start_python();  // a C++ program may have an interpreter by now
  stacks::native_forget_unloaded();
  g_hook_check.run();
  if (const void* none = torch::undefined_tensor()) live::untrack_tensor(none);
  // Before the tables are copied, so that every site that it names is among them.
  run_or_abandon_on_oom([&] {
    cupti::Activity found;
    cupti::look(found);
    tables.cupti = std::move(found);
  });
  if (!plan(request, tables, file)) return false;
  if (!tables.view.take()) {
    refuse(request, "no dump: the tables could not be copied (no memory, or a table is busy)");
    return false;
  }
  int8_t devices[devices::DriverAnswers::kMaxDevices];
  tables.driver.ask(devices, dump::used_cuda_devices(tables.view, devices));
  if (tables.plan.facts)
    tables.facts_known = tables.facts.reserve(std::min(tables.plan.facts, tables.view.tensors.size));
  bool ok = false;
  if (!tables.objects.refresh() || !run_or_abandon_on_oom([&] { ok = write_tables(facts, tables, file, summary); })) {
    refuse(request, kNoMemory);
    return false;
  }
  return ok;
}

// For the end of work that may use up all memory there is.
class Reserve {
 public:
  Reserve() : pages_(map_pages(kBytes)) {}
  ~Reserve() { release(); }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  void release() {
    unmap_pages(pages_, kBytes);
    pages_ = nullptr;
  }

 private:
  static constexpr size_t kBytes = size_t{1} << 20;
  void* pages_;
};

void record_graph(const torch::Graph& graph) {
  if (!graph.complete) {
    set_coverage(Subject::autograd_graph, graph.nodes.empty() ? Seen::no : Seen::partly, graph.detail);
  } else {
    set_coverage(Subject::autograd_graph, graph.nodes.empty() ? Seen::not_applicable : Seen::yes,
                 graph.nodes.empty() ? "no autograd node is alive" : "");
  }
}

// Between the phases: nodes freed meanwhile are missing from the graph, but no thread is held up.
bool add_graph(const Tables& tables, dump::DumpFile& file, torch::Graph& graph) {
  graph.detail = "the program's tensors could not be inspected";
  if (tables.reader != nullptr) {
    const bool told = coverage(Subject::autograd).seen.load(std::memory_order_acquire) == Seen::yes;
    graph = torch::read_graph(
        {tables.view, tables.grad_fns, tables.reader->classes(), tables.reader->torch().undefined_tensor, told});
  }
  return dump::write_graph(graph, file);
}

// False: the file could not be written. `graph` outlives work that is abandoned when memory runs out.
bool graph_phase(const DumpRequest& request, Tables& tables, dump::DumpFile& file, torch::Graph& graph) {
  Reserve reserve;
  bool ok = false;
  const MemoryRoom room = MemoryRoom::now();
  const bool fits = tables.plan.graph && room.has(graph_needs(tables.view.nodes.size, tables.view.tensors.size));
  if (!fits) tables.left_out.add("the autograd graph", room);
  if (!fits || !run_or_abandon_on_oom([&] { ok = add_graph(tables, file, graph); })) {
    reserve.release();
    graph = torch::Graph{};
    graph.detail = fits ? "not enough memory" : kTooLittleLeft;
    if (!run_or_abandon_on_oom([&] { ok = dump::write_graph(graph, file); })) {
      refuse(request, kNoMemory);
      return false;
    }
  }
  record_graph(graph);
  return ok;
}

void record_module_paths(const python::Names& names) {
  if (names.complete) {
    set_coverage(Subject::module_paths, names.modules.empty() ? Seen::not_applicable : Seen::yes, "");
  } else {
    set_coverage(Subject::module_paths, names.modules.empty() ? Seen::no : Seen::partly, names.detail);
  }
}

// What died between the copy of the tables and the end of the search: nobody looked at it. What is alive afterwards was
// alive all the while.
void note_freed(const live::SnapshotView& view, python::References& references) {
  std::vector<bool> alive(view.tensors.size);
  live::look_at_live(view.tensors, 0, view.tensors.size, [&](size_t index) { alive[index] = true; });
  if (!is_recording()) return;
  for (size_t i = 0; i < view.tensors.size; ++i) {
    const live::TensorEntry& entry = view.tensors[i];
    if (!alive[i] && !entry.released && !references.freed.push(entry.serial)) return;
  }
}

// `found` outlives work that is abandoned when memory runs out.
bool phase2(const DumpRequest& request, const python::SnapshotFacts& facts, Tables& tables, dump::SourceLines& sources,
            const dump::Mappings& mappings, dump::DumpFile& file, python::ProgramFacts& found) {
  Reserve reserve;
  bool ok = false;
  const bool named = run_or_abandon_on_oom([&] {
    const python::LookCosts costs = python::LookCosts::allowed();
    if (options().names && request.names && costs.memory < kMinForNames) {
      tables.left_out.add("names", MemoryRoom::now());
      found.set_detail(kTooLittleLeft);
    } else if (options().names && request.names) {
      found = python::look_at_program(costs, facts);
      note_freed(tables.view, found.references);
      if (!facts.devices)
        found.allocator.detail = "torch was not asked: the failing thread may hold the allocator's lock";
    } else {
      found.set_detail(options().names ? "not asked for" : "switched off by TENSORSCOPE_NAMES");
    }
    ok = dump::write_names(found.names, file) && dump::write_references(found.references, file);
  });
  reserve.release();
  const bool ended = run_or_abandon_on_oom([&] {
    if (!named) {
      found = python::ProgramFacts{};
      found.set_detail("not enough memory");
      ok = dump::write_names(found.names, file) && dump::write_references(found.references, file);
    }
    record_module_paths(found.names);
    ok = ok && dump::write_device_memory(tables.view, found.allocator, tables.driver, file);
    ok = ok && dump::write_process_groups(found.groups, file);
    ok = ok && dump::write_process_memory(found.heap, mappings, tables.shared, file);
    ok = ok && sources.write(file) && dump::write_coverage(file, tables.left_out.text()) && dump::write_end(file);
  });
  if (!ended) refuse(request, kNoMemory);
  return ended && ok;
}

// False: the dump is larger than all dumps may be, and a line has said so.
bool fits_on_disk(const DumpRequest& request, const char* directory, const dump::DumpFile& file) {
  const uint64_t limit = options().disk_limit;
  if (limit == 0 || dump::make_room_on_disk(directory, limit, file.bytes())) return true;
  refuse(request, "no dump: it takes %s, and TENSORSCOPE_DISK_LIMIT is %s", ByteText(file.bytes()).c_str(),
         ByteText(limit).c_str());
  return false;
}

// "(312 tensors, 1.42 GiB live, +128.0 MiB since the last) in 41 ms": what follows the name.
struct SummaryText {
  char text[448];
  SummaryText(const Summary& summary, uint64_t requested_ns, const LeftOut& left_out) {
    char change[80] = "";
    if (written_dumps().last_live >= 0) {
      const int64_t difference = int64_t(summary.live_bytes) - written_dumps().last_live;
      snprintf(change, sizeof(change), ", %s%s since the last", difference < 0 ? "-" : "+",
               ByteText(uint64_t(difference < 0 ? -difference : difference)).c_str());
    }
    snprintf(text, sizeof(text), "(%s, %s live%s) in %s%s%s", CountText(summary.tensors, "tensor").c_str(),
             ByteText(summary.live_bytes).c_str(), change, DurationText(monotonic_ns() - requested_ns).c_str(),
             left_out.text()[0] != 0 ? ", " : "", left_out.text());
  }
};

// When the parts of a dump ended, for the log.
struct DumpTimes {
  uint64_t begin = monotonic_ns(), tables = 0, graph = 0;
  void log(const DumpRequest& request, const char* path, const char* summary, const python::ProgramFacts& found) const {
    const auto ms = [](uint64_t from, uint64_t to) { return double(to - from) / 1e6; };
    const bool named = found.references.complete;
    tensorscope::log(LogLevel::info,
                     "dump {} {} for {}: {}; asked for {:.1f} ms before, tables {:.1f} ms, graph {:.1f} "
                     "ms, names {:.1f} ms{}{}",
                     path, summary, trigger_name(request.reason), request.detail, ms(request.requested_ns, begin),
                     ms(begin, tables), ms(tables, graph), ms(graph, monotonic_ns()),
                     named ? "" : "; not all names: ", named ? "" : found.references.detail);
  }
};

// The dump that the short report is about.
struct ReportedDump {
  const char* path = "";
  const char* summary = "";
  const char* failed = "";  // why there is none
};

// What phases 1 and 2 have found, for a person who waits for an answer.
void print_short_report(const DumpRequest& request, Tables& tables, const torch::Graph& graph,
                        const python::ProgramFacts& found, const ReportedDump& dump) {
  const size_t wanted = tables.view.tensors.size;
  const size_t most = most_in_report(MemoryRoom::now().usable, tables.facts.size(), tables.view.allocations.size);
  const bool known = tables.facts_known && (most > 0 || wanted == 0);
  const oom::DumpTables rows = {tables.view, tables.facts.largest(most), graph, found.references};
  torch::ObjectClasses* const classes = tables.reader != nullptr ? &tables.reader->classes() : nullptr;
  tables.driver.wait();
  oom::print_report({.failure = *request.failure,
                     .tables = rows,
                     .classes = classes,
                     .allocator = found.allocator,
                     .driver = tables.driver,
                     .shared = tables.shared,
                     .tensors_known = known,
                     .path = dump.path,
                     .summary = dump.summary,
                     .dump_failed = dump.failed,
                     .earlier = written_dumps().named,
                     .earlier_age_ns = monotonic_ns() - written_dumps().named_ns});
}

// `directory` outlives the file.
bool write_whole_dump(const DumpRequest& request, dump::DumpFile& file, char (&directory)[PATH_MAX],
                      char (&path)[PATH_MAX]) {
  char kind[32];
  dump_kind(request.reason, kind);
  const dump::DumpName base = {written_dumps().asked_for + 1, kind, trigger_name(request.reason)};
  char name[NAME_MAX + 1];
  dump::dump_name(options().name, process_info(), base, 1, name);
  dump_directory(directory);

  Summary summary;
  python::SnapshotFacts snapshot;
  dump::DumpFacts facts = {.reason = request.reason,
                           .detail = request.detail,
                           .number = written_dumps().all + 1,
                           .requested_ns = request.requested_ns,
                           .failure = request.failure,
                           .torch_version = {},
                           .site = request.site};
  if (request.ancestor) facts.asked_by_run = request.ancestor->run_id;
  if (request.ancestor) facts.asked_by_dump = request.ancestor->number;
  look_at_children(request, facts);  // first of all: theirs are written at the same time
  features_describe(facts);
  Tables tables;
  dump::SourceLines sources;
  dump::Mappings mappings;
  torch::Graph graph;
  python::ProgramFacts found;
  const auto look = [&] {
    snapshot.serial = tables.view.serial;
    int8_t devices[devices::DriverAnswers::kMaxDevices];
    snapshot.devices = dump::used_cuda_devices(tables.view, devices) > 0 && !may_lock_the_allocator(request);
    snapshot.graph = std::make_shared<torch::GraphSeeds>(std::move(graph.seeds));
    snapshot.sizes = std::make_shared<python::TensorSizes>(std::move(tables.sizes));
    return phase2(request, snapshot, tables, sources, mappings, file, found);
  };
  DumpTimes times;
  bool written = file.open(directory, name) && phase1(request, facts, tables, file, summary);
  times.tables = monotonic_ns();
  if (written) sources.start(tables.view, request.failure != nullptr ? request.failure->site : 0, tables.cupti);
  if (written) read_mappings(mappings);
  if (written) dump::look_at_shared_files(request.failure, tables.shared);
  written = written && graph_phase(request, tables, file, graph);
  times.graph = monotonic_ns();
  written =
      written && look() && (request.passing || fits_on_disk(request, directory, file)) && name_file(file, base, name);
  if (!written) {
    if (file.error() != 0)
      refuse(request, "no dump in %s: cannot %s: %s", directory, file.failed(), strerror(file.error()));
    const char* why = file.error() != 0 ? "the dump could not be written (see above)" : "";
    if (short_report_wanted(request)) print_short_report(request, tables, graph, found, {.failed = why});
    return false;
  }
  copy_text(std::string(directory) + "/" + name, path);
  const SummaryText text(summary, request.requested_ns, tables.left_out);
  times.log(request, path, text.text, found);
  if (request.passing) return true;
  count_dump(request.reason);
  if (short_report_wanted(request)) {
    print_short_report(request, tables, graph, found, {.path = path, .summary = text.text});
  } else if (!options().quiet) {
    say("wrote %s %s", name, text.text);
  }
  written_dumps().last_live = int64_t(summary.live_bytes);
  if (found.references.complete) {
    memcpy(written_dumps().named, path, sizeof(written_dumps().named));
    written_dumps().named_ns = monotonic_ns();
  }
  return true;
}

}  // namespace

void set_hook_check(const HookCheck& check) { g_hook_check = check; }

bool write_dump(const DumpRequest& request, char (&path)[PATH_MAX]) {
  char directory[PATH_MAX];
  dump::DumpFile file;
  path[0] = 0;
  g_open_file = &file;
  bool ok = false;
  if (!run_or_abandon_on_oom([&] { ok = write_whole_dump(request, file, directory, path); }))
    refuse(request, kNoMemory);
  g_open_file = nullptr;
  return ok;
}

}  // namespace tensorscope::collector
