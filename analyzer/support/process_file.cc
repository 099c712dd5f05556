// SPDX-License-Identifier: Apache-2.0
#include "support/process_file.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace tensorscope::analyzer {

std::optional<std::string> read_process_file(pid_t pid, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  // A file of /proc opens and then fails to read where permission is missing.
  if (text.str().empty() && !file.eof()) return std::nullopt;
  return text.str();
}

std::string status_field(const std::string& status, const std::string& name) {
  size_t at = status.find("\n" + name + ":");
  if (at == std::string::npos) return "";
  at += name.size() + 2;
  const std::string value = status.substr(at, status.find('\n', at) - at);
  const size_t begin = value.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : value.substr(begin);
}

}  // namespace tensorscope::analyzer
