// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/source_lines.h"

#include <algorithm>
#include <climits>
#include <string>
#include <string_view>

#include "dump/decode/flatbuffer_texts.h"
#include "dump_generated.h"
#include "tensorscope/rules/source_text.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxSourceText = 3 * rules::kMaxLineBytes;  // a byte that is no UTF-8 becomes three

void add_source_file(const format::SourceFile& row, Decoding& state) {
  if (!row.path() || row.path()->size() == 0) return state.count("source files without a name");
  SourceFile file;
  file.path = state.charged(row.path()->string_view());
  file.state = int(row.state());
  if (row.state() > format::SourceState::MAX) {
    state.count("source files in an invalid state");
    file.state = int(format::SourceState::unreadable);
  }
  file.size = row.size();
  file.hash = row.hash();
  const size_t numbers = row.numbers() ? row.numbers()->size() : 0, texts = row.texts() ? row.texts()->size() : 0;
  if (numbers != texts) state.count("source lines without a number or a text");
  uint32_t last = 0;
  for (uint32_t i = 0; i < std::min(numbers, texts); i++) {
    const uint32_t number = row.numbers()->Get(i);
    const std::string_view text = row.texts()->Get(i)->string_view();
    if (number <= last || number > INT_MAX || text.size() > kMaxSourceText || text.find('\n') != text.npos) {
      state.count("invalid source lines");
      continue;
    }
    last = number;
    file.lines.emplace_back(number, state.charged(text));
  }
  state.dump.sources.files.push_back(std::move(file));
}

}  // namespace

void decode_source_lines(const format::SourceLines& in, Decoding& state) {
  Sources& out = state.dump.sources;
  out.present = true;
  out.complete = in.complete();
  out.detail = charged(in.detail(), state);
  out.newest_unix_ns = in.newest_unix_ns();
  if (!in.files()) return;
  for (const format::SourceFile* row : *in.files()) add_source_file(*row, state);
  const auto by_path = [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; };
  std::stable_sort(out.files.begin(), out.files.end(), by_path);
  const auto same = [](const SourceFile& a, const SourceFile& b) { return a.path == b.path; };
  const auto twice = std::unique(out.files.begin(), out.files.end(), same);
  if (twice != out.files.end()) state.count("source files listed twice", uint64_t(out.files.end() - twice));
  out.files.erase(twice, out.files.end());
}

}  // namespace tensorscope::analyzer
