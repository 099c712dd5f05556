// SPDX-License-Identifier: Apache-2.0
// The files that another process has mapped, and where their functions are in it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tensorscope::process {

class MappedFiles {
 public:
  // As they are now; none where the process has ended or may not be looked into.
  explicit MappedFiles(pid_t pid);

  bool empty() const { return files_.empty(); }
  // Whether a file is there whose name begins so.
  bool has(const std::vector<std::string>& prefixes) const { return find(prefixes) != nullptr; }
  // Address of an exported function in the process, in the first of the libraries that has it; 0: none has.
  uint64_t function(const std::vector<std::string>& libraries, const char* name) const;
  // Address of a sequence of bytes in the code of a library; 0: it is not there.
  uint64_t code_with(const std::vector<std::string>& library, const std::string& bytes) const;

 private:
  struct Mapped {
    uint64_t begin = 0, offset = 0;  // of the first mapping
    std::string path;
  };
  const Mapped* find(const std::vector<std::string>& prefixes) const;

  pid_t pid_;
  std::map<std::string, Mapped> files_;  // by path
};

}  // namespace tensorscope::process
