// SPDX-License-Identifier: Apache-2.0
#include "dump/run_dumps.h"

#include <filesystem>

#include "dump/reader.h"

namespace tensorscope::analyzer {

std::vector<RunDump> dumps_beside(const std::string& file, const Process& process, size_t most_files) {
  std::vector<RunDump> found;
  std::error_code error;
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (folder.empty()) folder = ".";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".tscope" || ++files > most_files) continue;
    try {
      const Process other = read_process(entry.path().string());
      if (other.run_id == process.run_id && other.pid == process.pid)
        found.push_back({other.dump_ns, entry.path().string()});
    } catch (const BadInput&) {
    }
  }
  return found;
}

}  // namespace tensorscope::analyzer
