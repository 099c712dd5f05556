// SPDX-License-Identifier: Apache-2.0
#include "recording/recorded_tables.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tensorscope::analyzer {

bool RecordedTables::take(const ChunkView& chunk) {
  switch (chunk.type) {
    case format::kProcess:
      return !process_.empty() || keep<format::Process>(chunk, process_);
    case format::kSharedObjects:
      return keep<format::SharedObjects>(chunk, objects_);
    case format::kStrings:
      return each<format::Strings>(chunk, [&](const auto* text) { strings_.push_back(text->str()); });
    case format::kCodes:
      return each<format::Codes>(chunk, [&](const auto* row) { codes_.push_back(*row); });
    case format::kThreads:
      return each<format::Threads>(chunk, [&](const auto* row) { threads_.push_back(*row); });
    case format::kSites:
      return each<format::Sites>(chunk, [&](const auto* row) { stacks_.push_back({row->native(), row->python()}); });
    case format::kNativeFrames:
      return keep_frames<format::NativeFrames>(chunk);
    case format::kPythonFrames:
      return keep_frames<format::PythonFrames>(chunk);
    case format::kSourceLines:
      return keep<format::SourceLines>(chunk, source_lines_);
    case format::kCoverage:
      return keep<format::Coverages>(chunk, coverage_);
    default:
      return true;
  }
}

uint32_t RecordedTables::add_string(const char* text) {
  if (strings_.empty()) strings_.emplace_back();
  strings_.emplace_back(text);
  return uint32_t(strings_.size() - 1);
}

// In the PROC chunk as it is: ages are measured from there.
void RecordedTables::set_time(uint64_t ns) {
  auto* table = flatbuffers::GetMutableSizePrefixedRoot<flatbuffers::Table>(process_.data());
  const auto* process = flatbuffers::GetSizePrefixedRoot<format::Process>(process_.data());
  const uint64_t unix_ns = process->dump_unix_ns() + (ns - process->dump_ns());
  table->SetField<uint64_t>(format::Process::VT_DUMP_UNIX_NS, unix_ns, 0);
  table->SetField<uint64_t>(format::Process::VT_DUMP_NS, ns, 0);
}

void RecordedTables::add_process(DumpBytes& out, uint64_t ns) {
  if (!process_.empty()) set_time(ns);
  out.add(format::kProcess, process_.data(), process_.size());
  if (!objects_.empty()) out.add(format::kSharedObjects, objects_.data(), objects_.size());
  if (!source_lines_.empty()) out.add(format::kSourceLines, source_lines_.data(), source_lines_.size());
}

void RecordedTables::add_frames_and_threads(DumpBytes& out) const {
  for (const auto& [type, payload] : frames_) out.add(type, payload.data(), payload.size());
  {
    flatbuffers::FlatBufferBuilder builder;
    auto rows = builder.CreateVectorOfStructs(codes_);
    out.add(format::kCodes, builder, format::CreateCodes(builder, rows));
  }
  flatbuffers::FlatBufferBuilder builder;
  auto rows = builder.CreateVectorOfStructs(threads_);
  out.add(format::kThreads, builder, format::CreateThreads(builder, rows));
}

void RecordedTables::add_coverage(DumpBytes& out) const {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<format::Coverage>> rows;
  const auto add = [&](const char* subject, format::Seen seen, const char* detail) {
    rows.push_back(format::CreateCoverageDirect(builder, subject, seen, detail));
  };
  constexpr char kNotKept[] = "not in a recording; take a dump for it";
  constexpr std::array<std::string_view, 3> kFromDumps = {"names", "module paths", "autograd graph"};
  for (const std::string_view subject : kFromDumps) add(subject.data(), format::Seen::no, kNotKept);
  if (const auto* kept =
          coverage_.empty() ? nullptr : flatbuffers::GetSizePrefixedRoot<format::Coverages>(coverage_.data());
      kept && kept->values()) {
    for (const auto* row : *kept->values()) {
      if (!row->subject() || std::ranges::find(kFromDumps, row->subject()->string_view()) != kFromDumps.end()) {
        continue;
      }
      rows.push_back(format::CreateCoverageDirect(builder, row->subject()->c_str(), row->seen(),
                                                  row->detail() ? row->detail()->c_str() : "", row->missed()));
    }
  }
  out.add(format::kCoverage, builder, format::CreateCoveragesDirect(builder, &rows));
}

void RecordedTables::add_strings(DumpBytes& out) const {
  flatbuffers::FlatBufferBuilder builder;
  auto rows = builder.CreateVectorOfStrings(strings_);
  out.add(format::kStrings, builder, format::CreateStrings(builder, rows));
}

}  // namespace tensorscope::analyzer
