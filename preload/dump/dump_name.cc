// SPDX-License-Identifier: Apache-2.0
#include "dump/dump_name.h"

#include <stdio.h>
#include <string.h>

#include <string>
#include <string_view>

namespace tensorscope::dump {

namespace {

constexpr std::string_view kEnding = ".tscope";
// The temporary name is ".NAME.tmp-XXXXXXXX": the name must leave room for that.
constexpr size_t kTemporaryExtra = 14;
constexpr size_t kLongest = NAME_MAX - kTemporaryExtra;

std::string value_of(std::string_view field, const ProcessInfo& process, const DumpName& name,
                     std::string_view program) {
  const bool numbered = name.kind[0] == 0;
  if (field == "program") return std::string(program);
  if (field == "pid") return std::to_string(process.pid);
  if (field == "n") return numbered ? std::to_string(name.number) : name.kind;
  if (field == "kind") return name.trigger;
  if (field == "rank") return std::to_string(process.rank < 0 ? 0 : process.rank);
  if (field == "host") return process.host;
  return "{" + std::string(field) + "}";
}

std::string expand(std::string_view pattern, const ProcessInfo& process, const DumpName& name,
                   std::string_view program) {
  std::string text;
  while (!pattern.empty()) {
    const size_t open = pattern.find('{');
    text += pattern.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = pattern.find('}', open);
    if (close == std::string_view::npos) {
      text += pattern.substr(open);
      break;
    }
    text += value_of(pattern.substr(open + 1, close - open - 1), process, name, program);
    pattern.remove_prefix(close + 1);
  }
  if (text.size() >= kEnding.size() && std::string_view(text).substr(text.size() - kEnding.size()) == kEnding) {
    text.resize(text.size() - kEnding.size());
  }
  for (char& c : text) {
    if (c == '/' || (unsigned char)c < ' ') c = '_';
  }
  return text;
}

}  // namespace

void dump_name(const char* pattern, const ProcessInfo& process, const DumpName& name, unsigned attempt,
               char (&out)[NAME_MAX + 1]) {
  if (pattern == nullptr || *pattern == 0) {
    pattern = process.rank < 0 ? "{program}.{pid}.{n}" : "{program}.rank{rank}.{pid}.{n}";
  }
  const std::string ending = (attempt > 1 ? "-" + std::to_string(attempt) : std::string()) + std::string(kEnding);
  std::string_view program = process.program;
  std::string text = expand(pattern, process, name, program);
  while (text.size() + ending.size() > kLongest && !program.empty()) {
    const size_t excess = text.size() + ending.size() - kLongest;
    program = program.substr(0, program.size() > excess ? program.size() - excess : 0);
    text = expand(pattern, process, name, program);
  }
  if (text.size() + ending.size() > kLongest) text.resize(kLongest - ending.size());
  if (text.empty()) text = "dump";
  snprintf(out, sizeof(out), "%s%s", text.c_str(), ending.c_str());
}

}  // namespace tensorscope::dump
