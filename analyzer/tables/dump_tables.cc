// Dumps, and their live memory as `report` counts it.
#include <span>
#include <string>
#include <vector>

#include "dump_generated.h"
#include "tables/cells.h"

namespace tensorscope::tables {

namespace {

using analyzer::Holder;
using analyzer::Item;
using analyzer::kNone;
using enum Type;

const analyzer::Process& process_of(In in) { return in.dump().process; }
const analyzer::Totals& totals_of(In in) { return in.dump().totals; }

constexpr Column kDumps[] = {
    kDumpColumn,
    {"path", text, "file", [](In in, At, Out out) { out.text(in.path()); }},
    {"program", text, "script, module or binary", [](In in, At, Out out) { out.text(process_of(in).program); }},
    {"pid", whole, "process", [](In in, At, Out out) { out.whole(process_of(in).pid); }},
    {"host", text, "machine", [](In in, At, Out out) { text_or_null(out, process_of(in).host); }},
    {"run_id", text, "the same in every file of one process",
     [](In in, At, Out out) { out.text(process_of(in).run_id); }},
    {"rank", whole, "rank in a distributed job",
     [](In in, At, Out out) {
       if (process_of(in).rank >= 0) out.whole(uint64_t(process_of(in).rank));
     }},
    {"local_rank", whole, "rank on its machine",
     [](In in, At, Out out) {
       if (process_of(in).local_rank >= 0) out.whole(uint64_t(process_of(in).local_rank));
     }},
    {"world_size", whole, "processes of the job",
     [](In in, At, Out out) {
       if (process_of(in).world_size >= 0) out.whole(uint64_t(process_of(in).world_size));
     }},
    {"job", text, "the same for all ranks of a job", [](In in, At, Out out) { text_or_null(out, process_of(in).job); }},
    {"step", whole, "optimizer steps so far, or as the program marked them",
     [](In in, At, Out out) {
       if (process_of(in).step >= 0) out.whole(uint64_t(process_of(in).step));
     }},
    {"dump_number", whole, "of the process's dumps, from 1",
     [](In in, At, Out out) { out.whole(process_of(in).dump_number); }},
    {"trigger", text, "why it was written: signal, exit, call, out_of_memory, growth, low_memory",
     [](In in, At, Out out) { out.text(format::EnumNameTrigger(format::Trigger(process_of(in).trigger))); }},
    {"trigger_detail", text, "\"SIGUSR1\", ...",
     [](In in, At, Out out) { text_or_null(out, process_of(in).trigger_detail); }},
    {"dump_unix_ns", whole, "when, nanoseconds since 1970",
     [](In in, At, Out out) { out.whole(process_of(in).dump_unix_ns); }},
    {"dump_ns", whole, "the same on the monotonic clock, as created_ns is",
     [](In in, At, Out out) { out.whole(process_of(in).dump_ns); }},
    {"run_time_ns", whole, "since the process started",
     [](In in, At, Out out) { out.whole(process_of(in).dump_ns - process_of(in).start_ns); }},
    {"torch_version", text, "", [](In in, At, Out out) { text_or_null(out, process_of(in).torch_version); }},
    {"python_version", text, "null: a program without Python",
     [](In in, At, Out out) { text_or_null(out, process_of(in).python_version); }},
    {"tensorscope_version", text, "that wrote it",
     [](In in, At, Out out) { text_or_null(out, process_of(in).tensorscope_version); }},
    {"live_bytes", whole, "live memory: the sum of memory.bytes",
     [](In in, At, Out out) { out.whole(in.opened().accounts.total_bytes()); }},
    {"tensors", whole, "live tensors", [](In in, At, Out out) { out.whole(in.dump().tensors.size()); }},
    {"tensors_made", whole, "tensors so far, live or not",
     [](In in, At, Out out) { out.whole(totals_of(in).tensors_total); }},
    {"resident_bytes", whole, "resident memory of the process",
     [](In in, At, Out out) { out.whole(totals_of(in).resident_bytes); }},
    {"resident_peak_bytes", whole, "its peak",
     [](In in, At, Out out) { out.whole(totals_of(in).resident_peak_bytes); }},
    {"heap_in_use_bytes", whole, "allocated with malloc",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).heap_in_use); }},
    {"heap_free_bytes", whole, "kept by malloc for later",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).heap_free); }},
    {"cgroup_bytes", whole, "in use in the cgroup",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).cgroup_current); }},
    {"cgroup_limit_bytes", whole, "limit of the cgroup",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).cgroup_limit); }},
    {"machine_bytes", whole, "memory of the machine",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).machine_total); }},
    {"machine_available_bytes", whole, "of it available",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).machine_available); }},
    {"profiler_bytes", whole, "memory that tensorscope itself took",
     [](In in, At, Out out) { out.whole(totals_of(in).profiler_bytes); }},
    {"children", whole, "child processes",
     [](In in, At, Out out) {
       if (totals_of(in).children_known) out.whole(totals_of(in).children);
     }},
    {"failure", text, "an out-of-memory error: what failed",
     [](In in, At, Out out) {
       if (in.dump().failure) out.text(in.dump().failure->error);
     }},
    {"failure_bytes", whole, "bytes asked for in vain",
     [](In in, At, Out out) {
       if (in.dump().failure) number_or_null(out, in.dump().failure->requested);
     }},
    {"failure_site", whole, "site of the failing call",
     [](In in, At, Out out) {
       if (in.dump().failure) number_or_null(out, in.dump().failure->site);
     }},
};

// ---- memory ----

const Item& item_at(In in, At at) { return in.opened().accounts.items()[at.index]; }
uint32_t speaker_at(In in, At at) { return in.everything().speaker(uint32_t(at.index)); }

constexpr Column kMemory[] = {
    kDumpColumn,
    {"memory", whole, "number of the row in its dump", [](In, At at, Out out) { out.whole(at.index); }},
    {"bytes", whole, "live bytes; each byte of the dump is in one row, so sums are those of `report`",
     [](In in, At at, Out out) { out.whole(item_at(in, at).bytes); }},
    {"rounding_bytes", whole, "of these: the allocator's rounding",
     [](In in, At at, Out out) { out.whole(item_at(in, at).rounding); }},
    {"outside_bytes", whole, "of these: in no recorded allocation",
     [](In in, At at, Out out) { out.whole(item_at(in, at).outside); }},
    {"device", word, "cpu, cuda:0, ...", [](In in, At at, Out out) { out.text(item_at(in, at).device.text()); }},
    {"category", word, "what it is for, as `report` says; workspace: in no tensor",
     [](In in, At at, Out out) {
       const uint32_t tensor = speaker_at(in, at);
       out.text(analyzer::text(tensor == kNone ? analyzer::Category::workspace : in.opened().holders.category(tensor)));
     }},
    {"name", text, "best name of its tensor",
     [](In in, At at, Out out) {
       const uint32_t tensor = speaker_at(in, at);
       if (tensor != kNone) text_or_null(out, in.opened().holders.name(tensor));
     }},
    {"module", word, "nn.Module that it belongs to",
     [](In in, At at, Out out) {
       const uint32_t tensor = speaker_at(in, at);
       text_or_null(out, tensor == kNone ? in.opened().places.module_path(item_at(in, at).site)
                                         : in.opened().holders.module(tensor));
     }},
    {"holder", word, "what keeps it alive: variable, module, \"autograd graph\", \"C++ only\"",
     [](In in, At at, Out out) {
       const uint32_t tensor = speaker_at(in, at);
       if (tensor == kNone) return;
       const std::vector<Holder>& holders = in.opened().holders.holders(tensor);
       if (!holders.empty()) text_or_null(out, holders.front().root);
     }},
    {"tensor", whole, "tensor that it is described by; null: in no tensor",
     [](In in, At at, Out out) { tensor_or_null(in, out, speaker_at(in, at)); }},
    {"storage", whole, "storage; null: in no tensor",
     [](In in, At at, Out out) {
       if (item_at(in, at).storage != kNone) out.whole(in.dump().storages[item_at(in, at).storage].id);
     }},
    {"allocation", whole, "allocation that it lies in",
     [](In in, At at, Out out) {
       if (item_at(in, at).allocation != kNone) out.whole(in.dump().allocations[item_at(in, at).allocation].serial);
     }},
    {"site", whole, "where it was allocated", [](In in, At at, Out out) { number_or_null(out, item_at(in, at).site); }},
    {"place", word, "the same as one line: \"train.py:57 step\"",
     [](In in, At at, Out out) { place_or_null(in, out, item_at(in, at).site); }},
    {"thread", whole, "thread that allocated it",
     [](In in, At at, Out out) { number_or_null(out, item_at(in, at).thread); }},
    {"created_ns", whole, "when, monotonic clock",
     [](In in, At at, Out out) { number_or_null(out, item_at(in, at).created_ns); }},
    {"age_ns", whole, "before the dump",
     [](In in, At at, Out out) { age_or_null(in, out, item_at(in, at).created_ns); }},
};

constexpr Table kDumpTables[] = {
    {"dumps", "The dumps themselves: process, time, totals.", FileKind::dump, kDumps,
     [](In, const VisitRow& visit) { visit({}); }},
    {"memory",
     "Live memory, each byte once: a row for each storage, for each allocation in no tensor, and for each tensor "
     "without memory.",
     FileKind::dump, kMemory,
     [](In in, const VisitRow& visit) { each_index(in.opened().accounts.items().size(), visit); }},
};

}  // namespace

std::span<const Table> dump_tables() { return kDumpTables; }

}  // namespace tensorscope::tables
