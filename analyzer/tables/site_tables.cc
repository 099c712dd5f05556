// SPDX-License-Identifier: Apache-2.0
// Where a dump's memory was allocated: sites with their stacks, modules, threads.
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tables/cells.h"
#include "xxhash.h"

namespace tensorscope::tables {

namespace {

using enum Type;

const analyzer::Site& site_at(InputFile& file, const Row& row) { return file.dump().sites[row.index]; }
const analyzer::Place& place_at(InputFile& file, const Row& row) { return file.place(uint32_t(row.index)); }
const analyzer::Frame& frame_at(InputFile& file, const Row& row) { return file.stack(uint32_t(row.index))[row.part]; }
void index_cell(InputFile&, const Row& row, ColumnData& column) { column.int64(row.index); }

constexpr Column kSites[] = {
    kDumpColumn,
    {"site", int64, "number of the site in this dump; in dumps of one run the same", index_cell},
    {"place", dictionary, "as one line: \"train.py:57 step\"",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(place_at(file, row).where); }},
    {"file", dictionary, "",
     [](InputFile& file, const Row& row, ColumnData& column) { text_or_null(column, place_at(file, row).file); }},
    {"line", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (place_at(file, row).frame.line > 0) column.int64(uint64_t(place_at(file, row).frame.line));
     }},
    {"function", dictionary, "",
     [](InputFile& file, const Row& row, ColumnData& column) { text_or_null(column, place_at(file, row).function); }},
    {"source", text, "the source line",
     [](InputFile& file, const Row& row, ColumnData& column) {
       file.place(uint32_t(row.index));
       text_or_null(column, file.opened().places.source_line(uint32_t(row.index)));
     }},
    {"module", dictionary, "nn.Module whose forward runs there",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, file.opened().places.module_path(uint32_t(row.index)));
     }},
    {"tensors_live", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(site_at(file, row).tensors_live); }},
    {"tensors_made", int64, "so far",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(site_at(file, row).tensors_total); }},
    {"allocations_live", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(site_at(file, row).allocations_live); }},
    {"allocations_made", int64, "so far",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(site_at(file, row).allocations_total); }},
    {"bytes_live", int64, "in live allocations",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(site_at(file, row).bytes_live); }},
    {"bytes_made", int64, "allocated so far",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(site_at(file, row).bytes_total); }},
    {"bytes_peak", int64, "highest bytes_live so far",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(site_at(file, row).bytes_peak); }},
    {"stack", int64, "number that equal stacks have in any dump of the program (a hash)",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const std::string& key = file.stack_key(uint32_t(row.index));
       column.int64(XXH3_64bits(key.data(), key.size()));
     }},
};

constexpr Column kStacks[] = {
    kDumpColumn,
    {"site", int64, "site", index_cell},
    {"stack", text, "its frames, outermost first, with ';' between them",
     [](InputFile& file, const Row& row, ColumnData& column) {
       std::string folded;
       const std::vector<analyzer::Frame>& frames = file.stack(uint32_t(row.index));
       for (size_t i = frames.size(); i-- > 0;) {
         std::string where = file.opened().places.shown(frames[i]).where;
         std::replace(where.begin(), where.end(), ';', ':');
         folded += (folded.empty() ? "" : ";") + where;
       }
       column.text(folded);
     }},
    {"callers", text, "the program's own code that led to the site, innermost first",
     [](InputFile& file, const Row& row, ColumnData& column) {
       file.stack(uint32_t(row.index));
       text_or_null(column, file.opened().places.callers(uint32_t(row.index)));
     }},
    {"frames", int64, "how many",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(file.stack(uint32_t(row.index)).size()); }},
};

constexpr Column kFrames[] = {
    kDumpColumn,
    {"site", int64, "site", index_cell},
    {"depth", int64, "0: the innermost",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(row.part); }},
    {"language", dictionary, "python, native",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(frame_at(file, row).language == analyzer::Frame::Language::python ? "python" : "native");
     }},
    {"function", dictionary, "",
     [](InputFile& file, const Row& row, ColumnData& column) {
       file.opened().places.unread().function(frame_at(file, row));
       text_or_null(column, frame_at(file, row).function);
     }},
    {"file", dictionary, "",
     [](InputFile& file, const Row& row, ColumnData& column) { text_or_null(column, frame_at(file, row).file); }},
    {"line", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (frame_at(file, row).line > 0) column.int64(uint64_t(frame_at(file, row).line));
     }},
    {"object", dictionary, "shared object of a native frame",
     [](InputFile& file, const Row& row, ColumnData& column) { text_or_null(column, frame_at(file, row).object); }},
    {"module", dictionary, "nn.Module whose forward a Python frame runs",
     [](InputFile& file, const Row& row, ColumnData& column) { text_or_null(column, frame_at(file, row).module); }},
    {"inlined", boolean, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.boolean(frame_at(file, row).inlined); }},
    {"address", int64, "of a native frame",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, frame_at(file, row).address); }},
    {"not_read", boolean, "of a native frame: its function is not known because the object could not be read here",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.boolean(file.names_functions() && file.opened().places.unread().function(frame_at(file, row)));
     }},
};

using NamedModule = std::pair<const uint64_t, analyzer::Dump::ModuleName>;
const NamedModule& module_at(const Row& row) { return *static_cast<const NamedModule*>(row.object); }

constexpr Column kModules[] = {
    kDumpColumn,
    {"module", text, "path: \"model.layers.0.attn\"",
     [](InputFile&, const Row& row, ColumnData& column) { column.text(module_at(row).second.path); }},
    {"class", dictionary, "of the nn.Module",
     [](InputFile&, const Row& row, ColumnData& column) { text_or_null(column, module_at(row).second.class_name); }},
    {"object", int64, "Python's id()",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(module_at(row).first); }},
};

const analyzer::Thread& thread_at(InputFile& file, const Row& row) { return file.dump().threads[row.index]; }

constexpr Column kThreads[] = {
    kDumpColumn,
    {"thread", int64, "number of the thread in this dump", index_cell},
    {"tid", int64, "the system's number",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(thread_at(file, row).tid); }},
    {"name", text, "",
     [](InputFile& file, const Row& row, ColumnData& column) { text_or_null(column, thread_at(file, row).name); }},
    {"alive", boolean, "at the dump",
     [](InputFile& file, const Row& row, ColumnData& column) { column.boolean(thread_at(file, row).alive); }},
};

constexpr Table kSiteTables[] = {
    {"sites", "Allocation sites, with counters since the program started.", FileKind::dump, kSites,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().sites.size(), visit, 1); }},
    {"stacks", "The call stack of each site as text.", FileKind::dump, kStacks,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().sites.size(), visit, 1); }},
    {"frames", "The frames of each site's call stack.", FileKind::dump, kFrames,
     [](InputFile& file, const VisitRow& visit) {
       each_part(file.dump().sites.size(), visit,
                 [&](size_t i) { return i == 0 ? 0 : file.stack(uint32_t(i)).size(); });
     }},
    {"modules", "nn.Modules whose names are known.", FileKind::dump, kModules,
     [](InputFile& file, const VisitRow& visit) {
       for (const NamedModule& module : file.dump().module_names) {
         if (!visit({.object = &module})) return;
       }
     }},
    {"threads", "Threads that allocated something.", FileKind::dump, kThreads,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().threads.size(), visit, 1); }},
};

}  // namespace

std::span<const Table> site_tables() { return kSiteTables; }

}  // namespace tensorscope::tables
