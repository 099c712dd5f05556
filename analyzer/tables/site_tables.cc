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

const analyzer::Site& site_at(In in, At at) { return in.dump().sites[at.index]; }
const analyzer::Place& place_at(In in, At at) { return in.place(uint32_t(at.index)); }
const analyzer::Frame& frame_at(In in, At at) { return in.stack(uint32_t(at.index))[at.part]; }
void index_cell(In, At at, Out out) { out.whole(at.index); }

constexpr Column kSites[] = {
    kDumpColumn,
    {"site", whole, "number of the site in this dump; in dumps of one run the same", index_cell},
    {"place", word, "as one line: \"train.py:57 step\"",
     [](In in, At at, Out out) { out.text(place_at(in, at).where); }},
    {"file", word, "", [](In in, At at, Out out) { text_or_null(out, place_at(in, at).file); }},
    {"line", whole, "",
     [](In in, At at, Out out) {
       if (place_at(in, at).frame.line > 0) out.whole(uint64_t(place_at(in, at).frame.line));
     }},
    {"function", word, "", [](In in, At at, Out out) { text_or_null(out, place_at(in, at).function); }},
    {"source", text, "the source line",
     [](In in, At at, Out out) {
       in.place(uint32_t(at.index));
       text_or_null(out, in.opened().places.source_line(uint32_t(at.index)));
     }},
    {"module", word, "nn.Module whose forward runs there",
     [](In in, At at, Out out) { text_or_null(out, in.opened().places.module_path(uint32_t(at.index))); }},
    {"tensors_live", whole, "", [](In in, At at, Out out) { out.whole(site_at(in, at).tensors_live); }},
    {"tensors_made", whole, "so far", [](In in, At at, Out out) { out.whole(site_at(in, at).tensors_total); }},
    {"allocations_live", whole, "", [](In in, At at, Out out) { out.whole(site_at(in, at).allocations_live); }},
    {"allocations_made", whole, "so far", [](In in, At at, Out out) { out.whole(site_at(in, at).allocations_total); }},
    {"bytes_live", whole, "in live allocations", [](In in, At at, Out out) { out.whole(site_at(in, at).bytes_live); }},
    {"bytes_made", whole, "allocated so far", [](In in, At at, Out out) { out.whole(site_at(in, at).bytes_total); }},
    {"bytes_peak", whole, "highest bytes_live so far",
     [](In in, At at, Out out) { out.whole(site_at(in, at).bytes_peak); }},
    {"stack", whole, "number that equal stacks have in any dump of the program (a hash)",
     [](In in, At at, Out out) {
       const std::string& key = in.stack_key(uint32_t(at.index));
       out.whole(XXH3_64bits(key.data(), key.size()));
     }},
};

constexpr Column kStacks[] = {
    kDumpColumn,
    {"site", whole, "site", index_cell},
    {"stack", text, "its frames, outermost first, with ';' between them",
     [](In in, At at, Out out) {
       std::string folded;
       const std::vector<analyzer::Frame>& frames = in.stack(uint32_t(at.index));
       for (size_t i = frames.size(); i-- > 0;) {
         std::string where = in.opened().places.shown(frames[i]).where;
         std::replace(where.begin(), where.end(), ';', ':');
         folded += (folded.empty() ? "" : ";") + where;
       }
       out.text(folded);
     }},
    {"callers", text, "the program's own code that led to the site, innermost first",
     [](In in, At at, Out out) {
       in.stack(uint32_t(at.index));
       text_or_null(out, in.opened().places.callers(uint32_t(at.index)));
     }},
    {"frames", whole, "how many", [](In in, At at, Out out) { out.whole(in.stack(uint32_t(at.index)).size()); }},
};

constexpr Column kFrames[] = {
    kDumpColumn,
    {"site", whole, "site", index_cell},
    {"depth", whole, "0: the innermost", [](In, At at, Out out) { out.whole(at.part); }},
    {"language", word, "python, native",
     [](In in, At at, Out out) {
       out.text(frame_at(in, at).language == analyzer::Frame::Language::python ? "python" : "native");
     }},
    {"function", word, "",
     [](In in, At at, Out out) {
       in.opened().places.unread().function(frame_at(in, at));
       text_or_null(out, frame_at(in, at).function);
     }},
    {"file", word, "", [](In in, At at, Out out) { text_or_null(out, frame_at(in, at).file); }},
    {"line", whole, "",
     [](In in, At at, Out out) {
       if (frame_at(in, at).line > 0) out.whole(uint64_t(frame_at(in, at).line));
     }},
    {"object", word, "shared object of a native frame",
     [](In in, At at, Out out) { text_or_null(out, frame_at(in, at).object); }},
    {"module", word, "nn.Module whose forward a Python frame runs",
     [](In in, At at, Out out) { text_or_null(out, frame_at(in, at).module); }},
    {"inlined", truth, "", [](In in, At at, Out out) { out.truth(frame_at(in, at).inlined); }},
    {"address", whole, "of a native frame",
     [](In in, At at, Out out) { number_or_null(out, frame_at(in, at).address); }},
    {"not_read", truth, "of a native frame: its function is not known because the object could not be read here",
     [](In in, At at, Out out) {
       out.truth(in.opened().symbols.names_native() && in.opened().places.unread().function(frame_at(in, at)));
     }},
};

using NamedModule = std::pair<const uint64_t, analyzer::Dump::ModuleName>;
const NamedModule& module_at(At at) { return *static_cast<const NamedModule*>(at.object); }

constexpr Column kModules[] = {
    kDumpColumn,
    {"module", text, "path: \"model.layers.0.attn\"", [](In, At at, Out out) { out.text(module_at(at).second.path); }},
    {"class", word, "of the nn.Module", [](In, At at, Out out) { text_or_null(out, module_at(at).second.class_name); }},
    {"object", whole, "Python's id()", [](In, At at, Out out) { out.whole(module_at(at).first); }},
};

const analyzer::Thread& thread_at(In in, At at) { return in.dump().threads[at.index]; }

constexpr Column kThreads[] = {
    kDumpColumn,
    {"thread", whole, "number of the thread in this dump", index_cell},
    {"tid", whole, "the system's number", [](In in, At at, Out out) { out.whole(thread_at(in, at).tid); }},
    {"name", text, "", [](In in, At at, Out out) { text_or_null(out, thread_at(in, at).name); }},
    {"alive", truth, "at the dump", [](In in, At at, Out out) { out.truth(thread_at(in, at).alive); }},
};

constexpr Table kSiteTables[] = {
    {"sites", "Allocation sites, with counters since the program started.", FileKind::dump, kSites,
     [](In in, const VisitRow& visit) { each_index(in.dump().sites.size(), visit, 1); }},
    {"stacks", "The call stack of each site as text.", FileKind::dump, kStacks,
     [](In in, const VisitRow& visit) { each_index(in.dump().sites.size(), visit, 1); }},
    {"frames", "The frames of each site's call stack.", FileKind::dump, kFrames,
     [](In in, const VisitRow& visit) {
       each_part(in.dump().sites.size(), visit, [&](size_t i) { return i == 0 ? 0 : in.stack(uint32_t(i)).size(); });
     }},
    {"modules", "nn.Modules whose names are known.", FileKind::dump, kModules,
     [](In in, const VisitRow& visit) {
       for (const NamedModule& module : in.dump().module_names) {
         if (!visit({.object = &module})) return;
       }
     }},
    {"threads", "Threads that allocated something.", FileKind::dump, kThreads,
     [](In in, const VisitRow& visit) { each_index(in.dump().threads.size(), visit, 1); }},
};

}  // namespace

std::span<const Table> site_tables() { return kSiteTables; }

}  // namespace tensorscope::tables
