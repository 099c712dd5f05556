// SPDX-License-Identifier: Apache-2.0
// What a dump recorded, and with which options.
#include <span>

#include "dump_generated.h"
#include "tables/cells.h"

namespace tensorscope::tables {

namespace {

using enum Type;

constexpr Column kOptions[] = {
    kDumpColumn,
    {"option", text, "TENSORSCOPE_...",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(file.dump().process.options[row.index].first);
     }},
    {"value", text, "as it took effect",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(file.dump().process.options[row.index].second);
     }},
};

const analyzer::Coverage& coverage_at(InputFile& file, const Row& row) { return file.dump().coverage[row.index]; }

constexpr Column kCoverage[] = {
    kDumpColumn,
    {"subject", text, "tensors, CPU memory, ...",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(coverage_at(file, row).subject); }},
    {"recorded", dictionary, "yes, partly, no, not_applicable",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(format::EnumNameSeen(format::Seen(coverage_at(file, row).seen)));
     }},
    {"detail", text, "why not",
     [](InputFile& file, const Row& row, ColumnData& column) { text_or_null(column, coverage_at(file, row).detail); }},
    {"missed", int64, "events known to be lost",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(coverage_at(file, row).missed); }},
};

constexpr Table kCoverageTables[] = {
    {"options", "The profiler's options.", FileKind::dump, kOptions,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().process.options.size(), visit); }},
    {"coverage", "What was recorded, and what was not.", FileKind::dump, kCoverage,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().coverage.size(), visit); }},
};

}  // namespace

std::span<const Table> coverage_tables() { return kCoverageTables; }

}  // namespace tensorscope::tables
