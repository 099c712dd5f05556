#include "process/object_maps.h"

#include <cstdio>
#include <sstream>

namespace tensorscope::process {

std::string maps_of_objects(const std::string& maps) {
  std::istringstream lines(maps);
  std::string kept, object;            // the path of the object that the last line was of
  unsigned long long last_offset = 0;  // in its file
  for (std::string line; std::getline(lines, line);) {
    const size_t slash = line.find('/');
    unsigned long long begin = 0, end = 0, offset = 0;
    char rights[8];
    if (slash != std::string::npos && sscanf(line.c_str(), "%llx-%llx %7s %llx", &begin, &end, rights, &offset) == 4) {
      const std::string path = line.substr(slash);
      // The parts of an object follow each other as in its file, the first with the file's beginning. Rights that
      // differ within one part (RELRO) make lines of their own.
      if (offset != 0 && (path != object || offset < last_offset)) continue;
      object = path;
      last_offset = offset;
    }
    kept += line + '\n';
  }
  return kept;
}

}  // namespace tensorscope::process
