// SPDX-License-Identifier: Apache-2.0
#include "symbols/source_lines.h"

#include <algorithm>
#include <sstream>

#include "dump_generated.h"
#include "support/printable.h"
#include "support/regular_file.h"
#include "tensorscope/dump_format.h"
#include "tensorscope/rules/source_text.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxSourceBytes = size_t{16} << 20;

std::string shown_line(std::string line) {
  std::replace(line.begin(), line.end(), '\t', ' ');
  return printable(line);
}

std::string inside_folder(const std::string& path, const std::string& folder) {
  const bool inside = path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
  return inside && !folder.empty() ? path.substr(folder.size() + 1) : "";
}

}  // namespace

const SourceFile* SourceLines::in_dump(const std::string& file) const {
  const std::vector<SourceFile>& files = dump_.sources.files;
  const auto found = std::lower_bound(files.begin(), files.end(), file,
                                      [](const SourceFile& a, const std::string& path) { return a.path < path; });
  return found != files.end() && found->path == file ? &*found : nullptr;
}

std::string SourceLines::line(const std::string& file, int line) {
  if (line <= 0 || file.empty() || file.front() == '<') return "";
  if (const SourceFile* known = in_dump(file)) {
    const auto found = std::lower_bound(known->lines.begin(), known->lines.end(), uint32_t(line),
                                        [](const auto& a, uint32_t number) { return a.first < number; });
    if (found != known->lines.end() && found->first == uint32_t(line)) return shown_line(found->second);
  }
  if (folders_.empty()) return "";
  auto [found, fresh] = files_.try_emplace(file);
  if (fresh) found->second = read(file);
  return size_t(line) <= found->second.size() ? shown_line(found->second[size_t(line) - 1]) : "";
}

// Where the file may lie below a folder. `any_end`: it will be known by its hash, so that a folder may stand for any
// part of its path.
std::vector<std::string> SourceLines::candidates(const std::string& file, bool any_end) const {
  std::vector<std::string> out = {file};
  const std::string& directory = dump_.process.working_directory;
  if (file.front() != '/') {
    out.push_back(directory + "/" + file);
  } else if (const std::string inside = inside_folder(file, directory); !inside.empty()) {
    out.push_back(inside);
  }
  for (size_t slash = file.find('/', 1); any_end && slash != file.npos; slash = file.find('/', slash + 1)) {
    out.push_back(file.substr(slash + 1));
  }
  return out;
}

// The content of the file, if it is what ran.
std::optional<std::string> SourceLines::believed(const std::string& folder, const std::string& path,
                                                 const SourceFile* known) {
  const RegularFile file = RegularFile::open_beneath(folder, path);
  if (!file) return std::nullopt;
  const std::string content = file.content(kMaxSourceBytes);
  const std::string place = folder + "/" + path;
  if (known) {
    if (content.size() == known->size && XXH3_64bits(content.data(), content.size()) == known->hash) return content;
    notes_.insert(place + " is not the file that ran (different content): its lines are not shown.");
    return std::nullopt;
  }
  const uint64_t newest = dump_.sources.newest_unix_ns ? dump_.sources.newest_unix_ns : dump_.process.start_unix_ns;
  if (newest == 0 || rules::may_be_what_runs(file.written_unix_ns(), newest)) return content;
  notes_.insert(place + " was written after the process started: its lines are not shown.");
  return std::nullopt;
}

std::vector<std::string> SourceLines::read(const std::string& file) {
  const SourceFile* known = in_dump(file);
  if (known && known->state != int(format::SourceState::read)) known = nullptr;
  std::vector<std::string> lines;
  for (const std::string& folder : folders_) {
    for (const std::string& path : candidates(file, known != nullptr)) {
      const std::optional<std::string> content = believed(folder, path, known);
      if (!content) continue;
      std::istringstream in(*content);
      for (std::string line; std::getline(in, line);) lines.emplace_back(rules::kept_line(line));
      return lines;
    }
  }
  return lines;
}

std::vector<std::string> SourceLines::notes() const { return {notes_.begin(), notes_.end()}; }

}  // namespace tensorscope::analyzer
