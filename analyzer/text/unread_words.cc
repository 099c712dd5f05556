// SPDX-License-Identifier: Apache-2.0
#include "text/unread_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "text/text.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

// The one that has the operations' names, if it is missing.
const std::string& example(const std::set<std::string>& libraries) {
  const auto found = std::ranges::find_if(
      libraries, [](const std::string& path) { return path.find("/libtorch_cpu.so") != path.npos; });
  return found == libraries.end() ? *libraries.begin() : *found;
}

}  // namespace

std::string unread_phrase(const analyzer::UnreadFiles& files, std::string_view consequence) {
  if (files.empty()) return "";
  std::vector<std::string> lacks;
  std::string advice;
  if (files.switched_off) {
    lacks.emplace_back("functions of libraries were not looked up (--no-symbols)");
    advice = " Leave out --no-symbols.";
  } else if (!files.libraries.empty()) {
    const size_t libraries = files.libraries.size();
    lacks.push_back(fmt::format("{} could not be read here ({}{})",
                                libraries == 1 ? "1 library" : count(libraries) + " libraries",
                                libraries == 1 ? "" : "such as ", clean(example(files.libraries))));
    advice = " Run this on the machine that the dump or recording is from, or name a folder with its files: --sysroot.";
  }
  if (files.not_recorded) {
    lacks.emplace_back("native stacks were not recorded of everything (TENSORSCOPE_NATIVE, --native-from)");
    advice += " Record with native stacks.";
  }
  if (!files.sources.empty()) {
    lacks.push_back(fmt::format("lines of {} are not known ({}{})", counted(files.sources.size(), "source file"),
                                files.sources.size() == 1 ? "" : "such as ", clean(*files.sources.begin())));
    advice += " Name a folder with the program's source files: --source.";
  }
  std::string sentence = fmt::format("{}, so {}.{}", fmt::join(lacks, " and "), consequence, advice);
  sentence[0] = char(std::toupper(uint8_t(sentence[0])));
  return sentence;
}

std::string unread_names_phrase(const analyzer::UnreadFiles& files) {
  if (files.switched_off) return "";
  analyzer::UnreadFiles said;
  said.libraries = files.libraries;
  return unread_phrase(said, "what depends on names of functions may be missing, or be shown by address");
}

}  // namespace tensorscope::text
