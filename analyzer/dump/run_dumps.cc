// SPDX-License-Identifier: Apache-2.0
#include "dump/run_dumps.h"

#include <algorithm>
#include <filesystem>

#include "dump/reader.h"

namespace tensorscope::analyzer {

namespace {

// Calls `function` with the path and the process of each dump in the folder of `file`.
template <typename Function>
void for_each_beside(const std::string& file, size_t most_files, Function function) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (folder.empty()) folder = ".";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".tscope" || ++files > most_files) continue;
    try {
      function(entry.path().string(), read_process(entry.path().string()));
    } catch (const BadInput&) {
    }
  }
}

}  // namespace

std::vector<RunDump> dumps_beside(const std::string& file, const Process& process, size_t most_files) {
  std::vector<RunDump> found;
  for_each_beside(file, most_files, [&](const std::string& path, const Process& other) {
    if (other.run_id == process.run_id && other.pid == process.pid) found.push_back({other.dump_ns, path});
  });
  return found;
}

std::vector<std::string> dumps_of_children_beside(const std::vector<Dump>& dumps, size_t most_files) {
  std::vector<std::string> found;
  const Process& parent = dumps.back().process;
  for_each_beside(dumps.back().path, most_files, [&](const std::string& path, const Process& other) {
    const auto goes_with = [&](const Dump& dump) { return dump.process.dump_number == other.asked_by_dump; };
    if (other.asked_by_run == parent.run_id && std::ranges::any_of(dumps, goes_with)) found.push_back(path);
  });
  std::ranges::sort(found);
  return found;
}

}  // namespace tensorscope::analyzer
