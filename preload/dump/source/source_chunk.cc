// SPDX-License-Identifier: Apache-2.0
#include "dump/source/source_chunk.h"

#include <vector>

#include "dump/chunk.h"
#include "support/coverage.h"
#include "support/enough_memory.h"
#include "support/options.h"
#include "support/process_info.h"

namespace tensorscope::dump {

namespace {

constexpr char kNoMemoryForLines[] = "not enough memory";

std::vector<SiteId> sites_outside_the_view(SiteId failed_at, const cupti::Activity& cupti) {
  std::vector<SiteId> sites = {failed_at};
  for (const cupti::MemoryEvent& event : cupti.memory) sites.push_back(event.site);
  for (const cupti::LaunchCounts& launches : cupti.launches) sites.push_back(launches.site);
  return sites;
}

void record_source_lines(std::span<const SourceFile> files, size_t wanted, const char* why_not_all) {
  size_t read = 0;
  bool changed = false;
  for (const SourceFile& file : files) {
    read += file.state == SourceState::read;
    changed = changed || file.state == SourceState::changed;
  }
  if (wanted == 0) return set_coverage(Subject::source_lines, Seen::not_applicable, "");
  const char* detail = *why_not_all != 0 ? why_not_all
                       : changed         ? "some source files changed after the process started"
                       : read < wanted   ? "some source files could not be read"
                                         : "";
  const Seen seen = read == 0 ? Seen::no : *detail != 0 ? Seen::partly : Seen::yes;
  set_coverage(Subject::source_lines, seen, detail);
}

}  // namespace

void SourceLines::start(const live::SnapshotView& view, SiteId failed_at, const cupti::Activity& cupti) {
  start(view, sites_outside_the_view(failed_at, cupti));
}

void SourceLines::start(const live::SnapshotView& view, const std::vector<SiteId>& sites) {
  if (!options().source) {
    return set_coverage(Subject::source_lines, Seen::no, "switched off by TENSORSCOPE_SOURCE");
  }
  if (options().confidential) {
    return set_coverage(Subject::source_lines, Seen::no, "left out by TENSORSCOPE_CONFIDENTIAL");
  }
  newest_unix_ns_ = process_info().image_start_unix_ns;
  started_ = run_or_abandon_on_oom([&] { wanted_ = wanted_lines(view, sites); });
  if (!started_) return set_coverage(Subject::source_lines, Seen::no, kNoMemoryForLines);
  reader_.start(wanted_, process_info().directory, newest_unix_ns_);
}

const char* SourceLines::why_not_all() const {
  if (*reader_.why() != 0) return reader_.why();
  if (!wanted_.all) return "the limit of 256 files and 16384 lines, or the memory limit, was reached";
  for (const SourceFile& file : reader_.files()) {
    if (file.state == SourceState::left_out) return "the limit of 32 MiB of source files was reached";
  }
  return "";
}

bool SourceLines::append(ChunkSink& file) {
  Chunk chunk(format::kSourceLines, size_t{64} << 10);
  flatbuffers::FlatBufferBuilder& builder = chunk.builder();
  const std::span<const SourceFile> read = reader_.files();
  std::vector<flatbuffers::Offset<format::SourceFile>> rows;
  for (size_t i = 0; i < wanted_.files.size(); ++i) {
    const SourceFile none = {nullptr, nullptr, 0, SourceState::left_out, 0, 0};
    const SourceFile& source = i < read.size() ? read[i] : none;
    std::vector<uint32_t> numbers;
    std::vector<flatbuffers::Offset<flatbuffers::String>> texts;
    for (const SourceLine& line : std::span(source.lines, source.count)) {
      if (line.length == 0) continue;
      numbers.push_back(line.number);
      texts.push_back(chunk.string(line.text, line.length));
    }
    const auto path = chunk.string(wanted_.files[i].path);
    rows.push_back(format::CreateSourceFile(builder, path, format::SourceState(source.state), source.size, source.hash,
                                            builder.CreateVector(numbers), builder.CreateVector(texts)));
  }
  const char* detail = why_not_all();
  const auto text = chunk.string(detail);
  return chunk.append_to(
      file, format::CreateSourceLines(builder, *detail == 0, text, newest_unix_ns_, builder.CreateVector(rows)));
}

bool SourceLines::write(ChunkSink& file) {
  if (!started_) return true;
  reader_.wait();
  bool ok = true;
  if (run_or_abandon_on_oom([&] { ok = append(file); })) {
    record_source_lines(reader_.files(), wanted_.files.size(), why_not_all());
  } else {
    set_coverage(Subject::source_lines, Seen::no, kNoMemoryForLines);
  }
  return ok;
}

}  // namespace tensorscope::dump
