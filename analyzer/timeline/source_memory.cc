// SPDX-License-Identifier: Apache-2.0
#include "timeline/source_memory.h"

#include <algorithm>
#include <map>

#include "symbols/user_code.h"

namespace tensorscope::analyzer {

namespace {

bool ends_in(const std::string& path, const std::string& end) {
  if (!path.ends_with(end)) return false;
  return path.size() == end.size() || end.front() == '/' || path[path.size() - end.size() - 1] == '/';
}

std::vector<uint8_t> wanted_codes(const Dump& dump, const std::string& file) {
  const std::string package = torch_package(dump);
  std::vector<uint8_t> wanted;
  for (const Code& code : dump.codes) {
    wanted.push_back(file.empty() ? python_owner(code.file, package) == Owner::user : ends_in(code.file, file));
  }
  return wanted;
}

using LineKey = std::pair<std::string, int>;

}  // namespace

LinesOfSites lines_of_sites(const Dump& dump, const std::string& file) {
  const std::vector<uint8_t> wanted = wanted_codes(dump, file);
  std::map<LineKey, std::string> functions;
  std::vector<std::vector<LineKey>> of_site(dump.sites.size());
  for (size_t site = 0; site < dump.sites.size(); ++site) {
    for (uint32_t id = dump.sites[site].python; id != 0; id = dump.python_frames[id].parent) {
      const PythonFrame& frame = dump.python_frames[id];
      if (frame.line <= 0 || !wanted[frame.code]) continue;
      const Code& code = dump.codes[frame.code];
      const LineKey key = {code.file, frame.line};
      functions.try_emplace(key, code.function);
      of_site[site].push_back(key);
    }
  }
  LinesOfSites result;
  std::map<LineKey, uint32_t> numbers;
  for (const auto& [key, function] : functions) {
    numbers[key] = uint32_t(result.lines.size());
    result.lines.push_back({key.first, key.second, function});
  }
  for (const std::vector<LineKey>& keys : of_site) {
    std::vector<uint32_t>& row = result.of_site.emplace_back();
    for (const LineKey& key : keys) row.push_back(numbers[key]);
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());  // recursion
  }
  return result;
}

}  // namespace tensorscope::analyzer
