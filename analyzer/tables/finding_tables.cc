// What `leaks` finds.
#include <span>

#include "tables/cells.h"

namespace tensorscope::tables {

namespace {

using enum Type;

const analyzer::LeakFinding& finding_at(In in, At at) { return in.findings().findings[at.index]; }

constexpr Column kFindings[] = {
    kDumpColumn,
    {"finding", whole, "number, as `leaks` has them", [](In, At at, Out out) { out.whole(at.index + 1); }},
    {"kind", word, "accumulated-graph, small-view, ... (docs/cli/leaks.md)",
     [](In in, At at, Out out) { out.text(analyzer::name(finding_at(in, at).kind)); }},
    {"bytes", whole, "retained size", [](In in, At at, Out out) { out.whole(finding_at(in, at).bytes); }},
    {"holder", text, "name of the largest holder",
     [](In in, At at, Out out) {
       if (!finding_at(in, at).holders.empty()) out.text(finding_at(in, at).holders.front());
     }},
    {"site", whole, "where it is made; null: at no one place",
     [](In in, At at, Out out) { number_or_null(out, finding_at(in, at).site); }},
    {"place", word, "the same as one line",
     [](In in, At at, Out out) { place_or_null(in, out, finding_at(in, at).site); }},
    {"first_bytes", whole, "in the first dump, where it grows",
     [](In in, At at, Out out) {
       if (!finding_at(in, at).growth.bytes.empty()) out.whole(finding_at(in, at).growth.bytes.front());
     }},
    {"last_bytes", whole, "in the last dump, where it grows",
     [](In in, At at, Out out) {
       if (!finding_at(in, at).growth.bytes.empty()) out.whole(finding_at(in, at).growth.bytes.back());
     }},
    {"tensors", whole, "tensors that it explains",
     [](In in, At at, Out out) { out.whole(finding_at(in, at).tensors.size()); }},
};

constexpr Column kFindingTensors[] = {
    kDumpColumn,
    {"finding", whole, "finding", [](In, At at, Out out) { out.whole(at.index + 1); }},
    {"tensor", whole, "tensor that it explains",
     [](In in, At at, Out out) { tensor_or_null(in, out, finding_at(in, at).tensors[at.part]); }},
};

constexpr Table kFindingTables[] = {
    {"findings",
     "What `leaks` finds: in all dumps together where up to 16 of one run are given (rows of the last one), else in "
     "each dump alone.",
     FileKind::dump, kFindings, [](In in, const VisitRow& visit) { each_index(in.findings().findings.size(), visit); }},
    {"finding_tensors", "The tensors that findings explain.", FileKind::dump, kFindingTensors,
     [](In in, const VisitRow& visit) {
       each_part(in.findings().findings.size(), visit,
                 [&](size_t i) { return in.findings().findings[i].tensors.size(); });
     }},
};

}  // namespace

std::span<const Table> finding_tables() { return kFindingTables; }

}  // namespace tensorscope::tables
