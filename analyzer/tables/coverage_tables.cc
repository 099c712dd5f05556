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
     [](In in, At at, Out out) { out.text(in.dump().process.options[at.index].first); }},
    {"value", text, "as it took effect",
     [](In in, At at, Out out) { out.text(in.dump().process.options[at.index].second); }},
};

const analyzer::Coverage& coverage_at(In in, At at) { return in.dump().coverage[at.index]; }

constexpr Column kCoverage[] = {
    kDumpColumn,
    {"subject", text, "tensors, CPU memory, ...", [](In in, At at, Out out) { out.text(coverage_at(in, at).subject); }},
    {"recorded", word, "yes, partly, no, not_applicable",
     [](In in, At at, Out out) { out.text(format::EnumNameSeen(format::Seen(coverage_at(in, at).seen))); }},
    {"detail", text, "why not", [](In in, At at, Out out) { text_or_null(out, coverage_at(in, at).detail); }},
    {"missed", whole, "events known to be lost", [](In in, At at, Out out) { out.whole(coverage_at(in, at).missed); }},
};

constexpr Table kCoverageTables[] = {
    {"options", "The profiler's options.", FileKind::dump, kOptions,
     [](In in, const VisitRow& visit) { each_index(in.dump().process.options.size(), visit); }},
    {"coverage", "What was recorded, and what was not.", FileKind::dump, kCoverage,
     [](In in, const VisitRow& visit) { each_index(in.dump().coverage.size(), visit); }},
};

}  // namespace

std::span<const Table> coverage_tables() { return kCoverageTables; }

}  // namespace tensorscope::tables
