// What heaptrack_print and heaptrack_gui read, as heaptrack_interpret writes it: strings, frames, a trie of stacks, and
// allocations that were never freed. Numbers are hexadecimal and count from 1; 0 is none.
#include <fmt/format.h>

#include <map>

#include "export/export.h"
#include "export/profiles/frame_table.h"
#include "export/profiles/site_sums.h"

namespace tensorscope::exports {

namespace {

constexpr unsigned kWrittenBy = 0x10400, kFileFormat = 2;  // of heaptrack

class HeaptrackFile {
 public:
  explicit HeaptrackFile(std::ostream& out) : out_(out) {}

  void write(const analyzer::Dump& dump, analyzer::Symbols& symbols, const ExportOptions& options) {
    out_ << fmt::format("v {:x} {:x}\nX {}\nI 1000 {:x}\n", kWrittenBy, kFileFormat,
                        dump.process.program.empty() ? "program" : dump.process.program,
                        dump.totals.machine_total / 4096);
    unsigned allocation = 0;
    for (const auto& [site, sum] : live_by_site(dump)) {
      const std::vector<analyzer::Frame> frames = symbols.shown(dump.sites[site], options.full_stacks);
      unsigned trace = 0;
      for (auto at = frames.rbegin(); at != frames.rend(); ++at) trace = trace_below(trace, frame(*at));
      // All but the first are of the average size.
      const uint64_t each = sum.bytes / sum.blocks, first = sum.bytes - each * (sum.blocks - 1);
      for (const auto& [bytes, count] : {std::pair{first, uint64_t{1}}, std::pair{each, sum.blocks - 1}}) {
        if (count == 0) continue;
        out_ << fmt::format("a {:x} {:x}\n", bytes, trace);
        for (uint64_t i = 0; i < count; ++i) out_ << fmt::format("+ {:x}\n", allocation);
        ++allocation;
      }
    }
    const uint64_t lived_ms = (dump.process.dump_ns - dump.process.start_ns) / 1'000'000;
    out_ << fmt::format("c {:x}\nR {:x}\n", lived_ms, dump.totals.resident_bytes / 4096);
  }

 private:
  unsigned string(const std::string& text) {
    if (text.empty()) return 0;
    const auto [at, fresh] = strings_.try_emplace(text, unsigned(strings_.size() + 1));
    if (fresh) out_ << "s " << text << '\n';
    return at->second;
  }
  unsigned frame(const analyzer::Frame& frame) {
    const uint32_t id = table_.add(frame);
    if (id + 1 <= frames_) return id + 1;
    const TableFrame& row = table_.frames()[id];
    const unsigned module = string(frame.object.empty() ? "python" : row.file), function = string(row.name);
    const unsigned file = frame.object.empty() || !frame.file.empty() ? string(row.file) : 0;
    out_ << fmt::format("i {:x} {:x} {:x}", id + 1, module, function);
    if (file != 0) out_ << fmt::format(" {:x} {:x}", file, row.line);
    out_ << '\n';
    return ++frames_;
  }
  unsigned trace_below(unsigned parent, unsigned frame) {
    const auto [at, fresh] = traces_.try_emplace({parent, frame}, unsigned(traces_.size() + 1));
    if (fresh) out_ << fmt::format("t {:x} {:x}\n", frame, parent);
    return at->second;
  }

  std::ostream& out_;
  FrameTable table_;
  unsigned frames_ = 0;
  std::map<std::string, unsigned> strings_;
  std::map<std::pair<unsigned, unsigned>, unsigned> traces_;
};

}  // namespace

void export_heaptrack(const analyzer::Dump& dump, analyzer::Symbols& symbols, std::ostream& out,
                      const ExportOptions& options) {
  HeaptrackFile(out).write(dump, symbols, options);
}

}  // namespace tensorscope::exports
