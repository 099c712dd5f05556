// Lines of source files on this machine, for showing beside a frame.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tensorscope::model {

class SourceLines {
 public:
  // Relative names are of `working_directory`; a file that changed after `start_unix_ns` may no longer be what ran, and
  // gives nothing (0: any age will do).
  SourceLines(std::string sysroot, std::string working_directory, uint64_t start_unix_ns)
      : sysroot_(std::move(sysroot)), working_directory_(std::move(working_directory)), start_unix_ns_(start_unix_ns) {}

  // Line `line` (from 1) without the blanks around it; "" where it cannot be had.
  std::string line(const std::string& file, int line);

 private:
  std::vector<std::string> read(const std::string& file) const;

  std::string sysroot_, working_directory_;
  uint64_t start_unix_ns_;
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace tensorscope::model
