#include "text/unread_words.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string unread_words(const analyzer::UnreadFiles& files, std::string_view consequence) {
  if (files.empty()) return "";
  std::string lacks, advice;
  if (files.switched_off) {
    lacks = "Functions of libraries were not looked up (--no-symbols)";
    advice = " Leave out --no-symbols.";
  } else if (!files.libraries.empty()) {
    const size_t libraries = files.libraries.size();
    lacks = libraries == 1 ? "1 library" : count(libraries) + " libraries";
    lacks += fmt::format(" could not be read here ({}{})", libraries == 1 ? "" : "such as ",
                         clean(example(files.libraries)));
    advice = " Run this on the machine that the dump or recording is from, or name a folder with its files: --sysroot.";
  }
  if (files.not_recorded) {
    lacks += lacks.empty() ? "N" : " and n";
    lacks += "ative stacks were not recorded of everything (TENSORSCOPE_NATIVE, --native-from)";
    advice += " Record with native stacks.";
  }
  if (!files.sources.empty()) {
    lacks += fmt::format("{}ines of {} are not known ({}{})", lacks.empty() ? "L" : " and l",
                         counted(files.sources.size(), "source file"), files.sources.size() == 1 ? "" : "such as ",
                         clean(*files.sources.begin()));
    advice += " Name a folder with the program's source files: --source.";
  }
  return fmt::format("{}, so {}.{}", lacks, consequence, advice);
}

}  // namespace tensorscope::text
