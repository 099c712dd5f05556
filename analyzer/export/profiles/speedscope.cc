// SPDX-License-Identifier: Apache-2.0
// speedscope's own format (https://www.speedscope.app/file-format-schema.json): one sample a site, weighed by live
// bytes, and once more by live blocks.
#include "export/export.h"
#include "export/json/scalars.h"
#include "export/profiles/frame_table.h"
#include "export/profiles/site_sums.h"

namespace tensorscope::exports {

namespace {

Json sampled(const char* name, const char* unit, const std::vector<std::vector<uint32_t>>& samples,
             const std::vector<uint64_t>& weights) {
  uint64_t sum = 0;
  for (const uint64_t weight : weights) sum += weight;
  return {{"type", "sampled"}, {"name", name},       {"unit", unit},      {"startValue", 0},
          {"endValue", sum},   {"samples", samples}, {"weights", weights}};
}

}  // namespace

void export_speedscope(const analyzer::Dump& dump, analyzer::Symbols& symbols, std::ostream& out,
                       const ExportOptions& options) {
  FrameTable table;
  std::vector<std::vector<uint32_t>> samples;
  std::vector<uint64_t> bytes, blocks;
  for (const auto& [site, sum] : live_by_site(dump)) {
    std::vector<uint32_t>& sample = samples.emplace_back();
    const std::vector<analyzer::Frame> frames = symbols.shown(dump.sites[site], options.full_stacks);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) sample.push_back(table.add(*frame));
    if (sample.empty()) {
      analyzer::Frame none;
      none.function = "no stack";
      sample.push_back(table.add(none));
    }
    bytes.push_back(sum.bytes);
    blocks.push_back(sum.blocks);
  }
  Json frames = Json::array();
  for (const TableFrame& frame : table.frames()) {
    Json row = {{"name", frame.name}};
    if (!frame.file.empty()) row["file"] = frame.file;
    if (frame.line > 0) row["line"] = frame.line;
    frames.push_back(std::move(row));
  }
  const Json file = {
      {"$schema", "https://www.speedscope.app/file-format-schema.json"},
      {"name", dump.path.substr(dump.path.rfind('/') + 1)},
      {"exporter", "tensorscope"},
      {"activeProfileIndex", 0},
      {"shared", {{"frames", std::move(frames)}}},
      {"profiles", {sampled("live bytes", "bytes", samples, bytes), sampled("live blocks", "none", samples, blocks)}}};
  out << text_of(file) << '\n';
}

}  // namespace tensorscope::exports
