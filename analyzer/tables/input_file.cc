// SPDX-License-Identifier: Apache-2.0
#include "tables/input_file.h"

#include <cstring>
#include <fstream>
#include <utility>

#include "dump/reader.h"
#include "tensorscope/values_format.h"

namespace tensorscope::tables {

namespace {

constexpr size_t kCurveParts = 1000;

bool is_values(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[sizeof format::kValuesMagic] = {};
  return file.read(magic, sizeof magic) && std::memcmp(magic, format::kValuesMagic, sizeof magic) == 0;
}

}  // namespace

FileKind kind_of(const std::string& path) {
  if (is_values(path)) return FileKind::values;
  return analyzer::is_recording(path) ? FileKind::recording : FileKind::dump;
}

InputFile::InputFile(const std::string& path, size_t number, const analyzer::SymbolOptions& options)
    : path_(path), number_(number), kind_(kind_of(path)), options_(options) {
  switch (kind_) {
    case FileKind::dump:
      opened_ = std::make_unique<analyzer::OpenedDump>(path, options);
      break;
    case FileKind::values:
      values_ = std::make_unique<values::ValuesFile>(path);
      break;
    case FileKind::recording:
      recording_ = std::make_unique<analyzer::RecordingFile>(path);
      break;
  }
}

InputFile::InputFile(analyzer::Dump dump, size_t number, const analyzer::SymbolOptions& options)
    : path_(dump.path),
      number_(number),
      options_(options),
      opened_(std::make_unique<analyzer::OpenedDump>(std::move(dump), options)) {}

std::vector<std::string> InputFile::problems() const {
  if (values_) return values_->problems();
  if (timeline_) return timeline_->problems;
  return opened_ ? opened_->dump.problems : std::vector<std::string>();
}

analyzer::UnreadFiles InputFile::unread() const {
  return opened_ ? opened_->places.unread().files() : analyzer::UnreadFiles();
}

analyzer::OpenedDump& InputFile::opened() {
  if (!opened_) opened_ = std::make_unique<analyzer::OpenedDump>(path_, options_);
  return *opened_;
}

const analyzer::Selection& InputFile::everything() {
  if (!everything_) everything_.emplace(opened().select({}));
  return *everything_;
}

void InputFile::prefetch(bool whole_stacks) {
  bool& ready = whole_stacks ? stacks_ready_ : places_ready_;
  if (std::exchange(ready, true)) return;
  std::vector<uint32_t> sites(dump().sites.size());
  for (uint32_t i = 0; i < sites.size(); ++i) sites[i] = i;
  opened().places.prefetch(sites, whole_stacks);
}

const analyzer::Place& InputFile::place(uint32_t site) {
  prefetch(false);
  return opened().places.at(site);
}

const std::vector<analyzer::Frame>& InputFile::stack(uint32_t site) {
  prefetch(true);
  return opened().places.stack(site);
}

const std::string& InputFile::stack_key(uint32_t site) {
  prefetch(true);
  return opened().places.stack_key(site);
}

const analyzer::Leaks& InputFile::findings() {
  static const analyzer::Leaks kNone;
  if (shared_ && shared_->dump != 0) return shared_->dump == number_ ? shared_->leaks : kNone;
  if (!leaks_) leaks_ = analyzer::find_leaks({opened().view(everything())}, true);
  return *leaks_;
}

const analyzer::PeakCategories& InputFile::peak_categories(size_t index) {
  if (!peak_categories_) peak_categories_ = analyzer::peak_categories(opened());
  return (*peak_categories_)[index];
}

const analyzer::MemoryTimeline& InputFile::timeline() {
  if (!timeline_) timeline_ = analyzer::read_timeline(*recording_, kCurveParts);
  return *timeline_;
}

}  // namespace tensorscope::tables
