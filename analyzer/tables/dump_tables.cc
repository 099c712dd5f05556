// SPDX-License-Identifier: Apache-2.0
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

const analyzer::Process& process_of(InputFile& file) { return file.dump().process; }
const analyzer::Totals& totals_of(InputFile& file) { return file.dump().totals; }

constexpr Column kDumps[] = {
    kDumpColumn,
    {"path", text, "file", [](InputFile& file, const Row&, ColumnData& column) { column.text(file.path()); }},
    {"program", text, "script, module or binary",
     [](InputFile& file, const Row&, ColumnData& column) { column.text(process_of(file).program); }},
    {"pid", int64, "process",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(process_of(file).pid); }},
    {"host", text, "machine",
     [](InputFile& file, const Row&, ColumnData& column) { text_or_null(column, process_of(file).host); }},
    {"run_id", text, "the same in every file of one process",
     [](InputFile& file, const Row&, ColumnData& column) { column.text(process_of(file).run_id); }},
    {"rank", int64, "rank in a distributed job",
     [](InputFile& file, const Row&, ColumnData& column) {
       if (process_of(file).rank >= 0) column.int64(uint64_t(process_of(file).rank));
     }},
    {"local_rank", int64, "rank on its machine",
     [](InputFile& file, const Row&, ColumnData& column) {
       if (process_of(file).local_rank >= 0) column.int64(uint64_t(process_of(file).local_rank));
     }},
    {"world_size", int64, "processes of the job",
     [](InputFile& file, const Row&, ColumnData& column) {
       if (process_of(file).world_size >= 0) column.int64(uint64_t(process_of(file).world_size));
     }},
    {"job", text, "the same for all ranks of a job",
     [](InputFile& file, const Row&, ColumnData& column) { text_or_null(column, process_of(file).job); }},
    {"step", int64, "optimizer steps so far, or as the program marked them",
     [](InputFile& file, const Row&, ColumnData& column) {
       if (process_of(file).step >= 0) column.int64(uint64_t(process_of(file).step));
     }},
    {"dump_number", int64, "of the process's dumps, from 1",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(process_of(file).dump_number); }},
    {"trigger", text, "why it was written: signal, exit, call, out_of_memory, growth, low_memory",
     [](InputFile& file, const Row&, ColumnData& column) {
       column.text(format::EnumNameTrigger(format::Trigger(process_of(file).trigger)));
     }},
    {"trigger_detail", text, "\"SIGUSR1\", ...",
     [](InputFile& file, const Row&, ColumnData& column) { text_or_null(column, process_of(file).trigger_detail); }},
    {"dump_unix_ns", int64, "when, nanoseconds since 1970",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(process_of(file).dump_unix_ns); }},
    {"dump_ns", int64, "the same on the monotonic clock, as created_ns is",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(process_of(file).dump_ns); }},
    {"run_time_ns", int64, "since the process started",
     [](InputFile& file, const Row&, ColumnData& column) {
       column.int64(process_of(file).dump_ns - process_of(file).start_ns);
     }},
    {"torch_version", text, "",
     [](InputFile& file, const Row&, ColumnData& column) { text_or_null(column, process_of(file).torch_version); }},
    {"python_version", text, "null: a program without Python",
     [](InputFile& file, const Row&, ColumnData& column) { text_or_null(column, process_of(file).python_version); }},
    {"tensorscope_version", text, "that wrote it",
     [](InputFile& file, const Row&, ColumnData& column) {
       text_or_null(column, process_of(file).tensorscope_version);
     }},
    {"live_bytes", int64, "live memory: the sum of memory.bytes",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(file.opened().accounts.total_bytes()); }},
    {"tensors", int64, "live tensors",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(file.dump().tensors.size()); }},
    {"tensors_made", int64, "tensors so far, live or not",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(totals_of(file).tensors_total); }},
    {"resident_bytes", int64, "resident memory of the process",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(totals_of(file).resident_bytes); }},
    {"resident_peak_bytes", int64, "its peak",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(totals_of(file).resident_peak_bytes); }},
    {"heap_in_use_bytes", int64, "allocated with malloc",
     [](InputFile& file, const Row&, ColumnData& column) { number_or_null(column, totals_of(file).heap_in_use); }},
    {"heap_free_bytes", int64, "kept by malloc for later",
     [](InputFile& file, const Row&, ColumnData& column) { number_or_null(column, totals_of(file).heap_free); }},
    {"cgroup_bytes", int64, "in use in the cgroup",
     [](InputFile& file, const Row&, ColumnData& column) { number_or_null(column, totals_of(file).cgroup_current); }},
    {"cgroup_limit_bytes", int64, "limit of the cgroup",
     [](InputFile& file, const Row&, ColumnData& column) { number_or_null(column, totals_of(file).cgroup_limit); }},
    {"machine_bytes", int64, "memory of the machine",
     [](InputFile& file, const Row&, ColumnData& column) { number_or_null(column, totals_of(file).machine_total); }},
    {"machine_available_bytes", int64, "of it available",
     [](InputFile& file, const Row&, ColumnData& column) {
       number_or_null(column, totals_of(file).machine_available);
     }},
    {"profiler_bytes", int64, "memory that tensorscope itself took",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(totals_of(file).profiler_bytes); }},
    {"children", int64, "child processes",
     [](InputFile& file, const Row&, ColumnData& column) {
       if (totals_of(file).children_known) column.int64(totals_of(file).children);
     }},
    {"failure", text, "an out-of-memory error: what failed",
     [](InputFile& file, const Row&, ColumnData& column) {
       if (file.dump().failure) column.text(file.dump().failure->error);
     }},
    {"failure_bytes", int64, "bytes asked for in vain",
     [](InputFile& file, const Row&, ColumnData& column) {
       if (file.dump().failure) number_or_null(column, file.dump().failure->requested);
     }},
    {"failure_site", int64, "site of the failing call",
     [](InputFile& file, const Row&, ColumnData& column) {
       if (file.dump().failure) number_or_null(column, file.dump().failure->site);
     }},
};

// ---- memory ----

const Item& item_at(InputFile& file, const Row& row) { return file.opened().accounts.items()[row.index]; }
uint32_t representative_at(InputFile& file, const Row& row) {
  return file.everything().representative(uint32_t(row.index));
}

constexpr Column kMemory[] = {
    kDumpColumn,
    {"memory", int64, "number of the row in its dump",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(row.index); }},
    {"bytes", int64, "live bytes; each byte of the dump is in one row, so sums are those of `report`",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(item_at(file, row).bytes); }},
    {"rounding_bytes", int64, "of these: the allocator's rounding",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(item_at(file, row).rounding); }},
    {"outside_bytes", int64, "of these: in no recorded allocation",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(item_at(file, row).outside); }},
    {"device", dictionary, "cpu, cuda:0, ...",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(item_at(file, row).device.text()); }},
    {"category", dictionary, "what it is for, as `report` says; workspace: in no tensor",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const uint32_t tensor = representative_at(file, row);
       column.text(
           analyzer::text(tensor == kNone ? analyzer::Category::workspace : file.opened().holders.category(tensor)));
     }},
    {"name", text, "best name of its tensor",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const uint32_t tensor = representative_at(file, row);
       if (tensor != kNone) text_or_null(column, file.opened().holders.name(tensor));
     }},
    {"module", dictionary, "nn.Module that it belongs to",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const uint32_t tensor = representative_at(file, row);
       text_or_null(column, tensor == kNone ? file.opened().places.module_path(item_at(file, row).site)
                                            : file.opened().holders.module(tensor));
     }},
    {"holder", dictionary, "what keeps it alive: variable, module, \"autograd graph\", \"C++ only\"",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const uint32_t tensor = representative_at(file, row);
       if (tensor == kNone) return;
       const std::vector<Holder>& holders = file.opened().holders.holders(tensor);
       if (!holders.empty()) text_or_null(column, holders.front().root);
     }},
    {"tensor", int64, "tensor that it is described by; null: in no tensor",
     [](InputFile& file, const Row& row, ColumnData& column) {
       tensor_or_null(file, column, representative_at(file, row));
     }},
    {"storage", int64, "storage; null: in no tensor",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (item_at(file, row).storage != kNone) column.int64(file.dump().storages[item_at(file, row).storage].id);
     }},
    {"allocation", int64, "allocation that it lies in",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (item_at(file, row).allocation != kNone)
         column.int64(file.dump().allocations[item_at(file, row).allocation].serial);
     }},
    {"site", int64, "where it was allocated",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, item_at(file, row).site); }},
    {"place", dictionary, "the same as one line: \"train.py:57 step\"",
     [](InputFile& file, const Row& row, ColumnData& column) { place_or_null(file, column, item_at(file, row).site); }},
    {"thread", int64, "thread that allocated it",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, item_at(file, row).thread); }},
    {"created_ns", int64, "when, monotonic clock",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, item_at(file, row).created_ns);
     }},
    {"age_ns", int64, "before the dump",
     [](InputFile& file, const Row& row, ColumnData& column) {
       age_or_null(file, column, item_at(file, row).created_ns);
     }},
};

constexpr Table kDumpTables[] = {
    {"dumps", "The dumps themselves: process, time, totals.", FileKind::dump, kDumps,
     [](InputFile&, const VisitRow& visit) { visit({}); }},
    {"memory",
     "Live memory, each byte once: a row for each storage, for each allocation in no tensor, and for each tensor "
     "without memory.",
     FileKind::dump, kMemory,
     [](InputFile& file, const VisitRow& visit) { each_index(file.opened().accounts.items().size(), visit); }},
};

}  // namespace

std::span<const Table> dump_tables() { return kDumpTables; }

}  // namespace tensorscope::tables
