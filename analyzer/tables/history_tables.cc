// SPDX-License-Identifier: Apache-2.0
// The time before a dump: memory over the run, and what was alive at the highest peak.
#include <span>

#include "dump_generated.h"
#include "tables/cells.h"

namespace tensorscope::tables {

namespace {

using analyzer::HistoryLevel;
using analyzer::HistoryPoint;
using analyzer::PeakSite;
using enum Type;

// Row::index: the point; Row::part: the device.
const HistoryPoint& point_at(InputFile& file, const Row& row) { return file.dump().history.points[row.index]; }
const HistoryLevel& level_at(InputFile& file, const Row& row) { return file.dump().history.level(row.index, row.part); }

constexpr Column kHistory[] = {
    kDumpColumn,
    {"time_ns", int64, "monotonic clock, as created_ns",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(point_at(file, row).ns); }},
    {"kind", dictionary, "step: at the end of one; second: without a step; dump: this dump",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(format::EnumNameMomentKind(format::MomentKind(point_at(file, row).kind)));
     }},
    {"step", int64, "steps that had ended",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (point_at(file, row).source != 0) column.int64(point_at(file, row).step);
     }},
    {"moments", int64, "steps and seconds that this row stands for: later ones are its level, the highest its peak",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(point_at(file, row).moments); }},
    {"device", dictionary, "cpu, cuda:0, ...",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(file.dump().history.devices[row.part].text());
     }},
    {"live_bytes", int64, "in live allocations",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(level_at(file, row).live); }},
    {"peak_bytes", int64, "the most since the row before of the device",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(level_at(file, row).peak); }},
    {"bytes_made", int64, "allocated so far",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(level_at(file, row).allocated); }},
    {"resident_bytes", int64, "of the process, read at most two seconds before; the same for each device",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, point_at(file, row).resident); }},
};

const PeakSite& peak_site_at(InputFile& file, const Row& row) { return file.dump().peak.sites[row.index]; }

constexpr Column kPeakSites[] = {
    kDumpColumn,
    {"site", int64, "site; its row is in `sites`",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(peak_site_at(file, row).site); }},
    {"bytes", int64, "live at the peak",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(peak_site_at(file, row).bytes); }},
    {"allocations", int64, "live at the peak",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(peak_site_at(file, row).allocations); }},
    {"place", text, "\"train.py:57 train_step\"",
     [](InputFile& file, const Row& row, ColumnData& column) {
       place_or_null(file, column, peak_site_at(file, row).site);
     }},
    {"category", dictionary,
     "of most of these bytes: `parameter` also stands for buffers if it is inferred; null: not known",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const analyzer::Category most = file.peak_categories(row.index).most();
       text_or_null(column, most == analyzer::Category::unknown ? "" : analyzer::text(most));
     }},
    {"category_bytes", int64, "of these bytes those of the category",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const analyzer::PeakCategories& all = file.peak_categories(row.index);
       if (all.most() != analyzer::Category::unknown) column.int64(all.bytes(all.most()));
     }},
    {"category_source", dictionary,
     "dump (of tensors of the site that are alive), or inferred (from where memory was made and how it was freed)",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const analyzer::PeakCategories& all = file.peak_categories(row.index);
       text_or_null(column, analyzer::text(all.source(all.most())));
     }},
    {"time_ns", int64, "of the peak, the same in each row; monotonic clock",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(file.dump().peak.ns); }},
    {"step", int64, "steps that had ended by then, the same in each row",
     [](InputFile& file, const Row&, ColumnData& column) {
       if (file.dump().peak.source != 0) column.int64(file.dump().peak.step);
     }},
    {"peak_bytes", int64, "of all sites and devices then, also of smaller sites that have no row",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(file.dump().peak.bytes); }},
};

constexpr Table kHistoryTables[] = {
    {"history", "Memory over the run before the dump, thinned as it ages.", FileKind::dump, kHistory,
     [](InputFile& file, const VisitRow& visit) {
       const analyzer::History& history = file.dump().history;
       each_part(history.points.size(), visit, [&](size_t) { return history.devices.size(); });
     }},
    {"peak_sites", "What was alive at the highest peak so far, within 1 %, the largest sites first.", FileKind::dump,
     kPeakSites, [](InputFile& file, const VisitRow& visit) { each_index(file.dump().peak.sites.size(), visit); }},
};

}  // namespace

std::span<const Table> history_tables() { return kHistoryTables; }

}  // namespace tensorscope::tables
