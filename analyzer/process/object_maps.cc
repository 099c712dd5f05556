// SPDX-License-Identifier: Apache-2.0
#include "process/object_maps.h"

#include <cinttypes>
#include <cstdio>
#include <optional>
#include <sstream>
#include <utility>

namespace tensorscope::process {

namespace {

std::optional<Mapping> mapping_of(const std::string& line) {
  Mapping mapping;
  char rights[8];
  int name_at = 0;
  const int fields = sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &mapping.begin,
                            &mapping.end, rights, &mapping.offset, &name_at);
  if (fields != 4) return std::nullopt;
  if (name_at > 0) mapping.name = line.substr(size_t(name_at));
  mapping.line = line;
  return mapping;
}

}  // namespace

std::vector<Mapping> object_mappings(const std::string& maps) {
  std::istringstream lines(maps);
  std::vector<Mapping> kept;
  std::string object;        // the path of the object that the last line was of
  uint64_t last_offset = 0;  // in its file
  for (std::string line; std::getline(lines, line);) {
    std::optional<Mapping> mapping = mapping_of(line);
    if (!mapping) continue;
    if (mapping->name.starts_with('/')) {
      // The parts of an object follow each other as in its file, the first with the file's beginning. Rights that
      // differ within one part (RELRO) make lines of their own.
      if (mapping->offset != 0 && (mapping->name != object || mapping->offset < last_offset)) continue;
      object = mapping->name;
      last_offset = mapping->offset;
    }
    kept.push_back(std::move(*mapping));
  }
  return kept;
}

}  // namespace tensorscope::process
