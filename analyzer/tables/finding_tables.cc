// SPDX-License-Identifier: Apache-2.0
// What `leaks` finds.
#include <span>

#include "tables/cells.h"

namespace tensorscope::tables {

namespace {

using enum Type;

const analyzer::LeakFinding& finding_at(InputFile& file, const Row& row) { return file.findings().findings[row.index]; }

constexpr Column kFindings[] = {
    kDumpColumn,
    {"finding", int64, "number, as `leaks` has them",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(row.index + 1); }},
    {"kind", dictionary, "accumulated-graph, small-view, ... (docs/cli/leaks.md)",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(analyzer::name(finding_at(file, row).kind));
     }},
    {"bytes", int64, "retained size",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(finding_at(file, row).bytes); }},
    {"holder", text, "name of the largest holder",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (!finding_at(file, row).holders.empty()) column.text(finding_at(file, row).holders.front());
     }},
    {"site", int64, "where it is made; null: at no one place",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, finding_at(file, row).site); }},
    {"place", dictionary, "the same as one line",
     [](InputFile& file, const Row& row, ColumnData& column) {
       place_or_null(file, column, finding_at(file, row).site);
     }},
    {"first_bytes", int64, "in the first dump, where it grows",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (!finding_at(file, row).growth.bytes.empty()) column.int64(finding_at(file, row).growth.bytes.front());
     }},
    {"last_bytes", int64, "in the last dump, where it grows",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (!finding_at(file, row).growth.bytes.empty()) column.int64(finding_at(file, row).growth.bytes.back());
     }},
    {"tensors", int64, "tensors that it explains",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(finding_at(file, row).tensors.size()); }},
};

constexpr Column kFindingTensors[] = {
    kDumpColumn,
    {"finding", int64, "finding", [](InputFile&, const Row& row, ColumnData& column) { column.int64(row.index + 1); }},
    {"tensor", int64, "tensor that it explains",
     [](InputFile& file, const Row& row, ColumnData& column) {
       tensor_or_null(file, column, finding_at(file, row).tensors[row.part]);
     }},
};

constexpr Table kFindingTables[] = {
    {"findings",
     "What `leaks` finds: in all dumps together where up to 16 of one run are given (rows of the last one), else in "
     "each dump alone.",
     FileKind::dump, kFindings,
     [](InputFile& file, const VisitRow& visit) { each_index(file.findings().findings.size(), visit); }},
    {"finding_tensors", "The tensors that findings explain.", FileKind::dump, kFindingTensors,
     [](InputFile& file, const VisitRow& visit) {
       each_part(file.findings().findings.size(), visit,
                 [&](size_t i) { return file.findings().findings[i].tensors.size(); });
     }},
};

}  // namespace

std::span<const Table> finding_tables() { return kFindingTables; }

}  // namespace tensorscope::tables
