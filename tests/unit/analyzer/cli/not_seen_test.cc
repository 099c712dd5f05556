// SPDX-License-Identifier: Apache-2.0
// What was not looked through is never concluded from: every verb on dumps whose layout check failed, whose search for
// names or walk over the graph ended early, or that have neither.
#include <gmock/gmock.h>

#include "command_fixture.h"
#include "leak_dumps.h"
#include "oom_dumps.h"

namespace tensorscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What was not seen. `python`: of Python's references; `graph`: of the graph.
struct Gap {
  const char* name;
  bool python, graph;
  void (*make)(DumpBuilder&);
};

// As the preload writes after a failed layout check: what modules' globals lead to, and nothing concluded.
bool is_global(const ReferenceSpec& row) { return row.root == format::ReferenceRoot::global; }

const Gap kGaps[] = {
    {"layout", true, false, [](DumpBuilder& dump) { dump.found_only(is_global); }},
    {"nothing found", true, false, [](DumpBuilder& dump) { dump.found_only([](const auto&) { return false; }); }},
    {"time", true, false,
     [](DumpBuilder& dump) {
       dump.found_only(is_global);
       dump.names_stopped_by = format::NamesLimit::time;
     }},
    {"no references", true, false, [](DumpBuilder& dump) { dump.has_references = false; }},
    {"graph", false, true, [](DumpBuilder& dump) { dump.graph_complete = false; }},
    {"no graph", false, true,
     [](DumpBuilder& dump) {
       dump.forget_graph();
       dump.has_graph = false;
     }},
};

// Sentences that say what is missing, in which these words are no claims.
const char* const kSaysWhatIsMissing[] = {
    "garbage, holders and checkpointing are left out",
};

const char* const kOfPython[] = {"C++ only",
                                 "held by C++",
                                 "C++ alone",
                                 "C++ code",
                                 "C code",
                                 "no Python object",
                                 "no Python tensor",
                                 "garbage",
                                 "unreachable",
                                 "without a Python root",
                                 "Python objects refer to: 0",
                                 "Python objects refer to directly: 0"};
const char* const kOfTheGraph[] = {"C++ only", "held by C++", "C++ alone", "C++ code", "no Python object, graph node"};

std::string without(std::string text, std::string_view words) {
  for (size_t at; (at = text.find(words)) != std::string::npos;) text.erase(at, words.size());
  return text;
}

class NotSeenTest : public CommandTest {
 protected:
  void write(const std::string& name, DumpBuilder dump, const Gap& gap) {
    gap.make(dump);
    dump.write(name);
  }

  void claims_nothing(const Gap& gap, const std::vector<std::string>& arguments) {
    const Result result = run(arguments);
    std::string text = result.out + result.err;
    for (const char* words : kSaysWhatIsMissing) text = without(text, words);
    // An ended search is said where one was.
    const bool ended = std::string_view(gap.name) == "time";
    EXPECT_TRUE(ended || text.find("ended early") == std::string::npos) << shown(gap, arguments);
    if (gap.python) {
      for (const char* words : kOfPython) EXPECT_THAT(text, Not(HasSubstr(words))) << shown(gap, arguments);
    }
    if (gap.graph) {
      for (const char* words : kOfTheGraph) EXPECT_THAT(text, Not(HasSubstr(words))) << shown(gap, arguments);
    }
    const bool refused = arguments[0] == "graph" && text.find("was not recorded") != std::string::npos;
    EXPECT_TRUE(result.status < 2 || refused) << shown(gap, arguments) << text;
  }

  static std::string shown(const Gap& gap, const std::vector<std::string>& arguments) {
    std::string text = std::string(gap.name) + ":";
    for (const std::string& word : arguments) text += " " + word;
    return text;
  }
};

TEST_F(NotSeenTest, NoVerbClaimsMore) {
  for (const Gap& gap : kGaps) {
    for (int minute : {1, 2, 3}) {
      const std::string number = std::to_string(minute);
      write("leak." + number + ".tscope", leaking_dump(minute, directory_), gap);
      write("train." + number + ".tscope", training_dump(minute, directory_), gap);
      write("gpu." + number + ".tscope", gpu_dump(minute, directory_, minute == 3), gap);
    }
    for (const std::string run : {"leak", "train", "gpu"}) {
      const std::string first = run + ".1.tscope", second = run + ".2.tscope", last = run + ".3.tscope";
      for (const char* by : {"site", "category", "module", "holder", "shape"}) {
        claims_nothing(gap, {"report", last, "--by", by, "--top", "0"});
        claims_nothing(gap, {"diff", first, last, "--by", by});
      }
      claims_nothing(gap, {"list", last, "--top", "0"});
      claims_nothing(gap, {"info", last});
      claims_nothing(gap, {"leaks", last});
      claims_nothing(gap, {"leaks", first, second, last});
      claims_nothing(gap, {"leaks", first, second, last, "--json"});
      claims_nothing(gap, {"oom", last});
      claims_nothing(gap, {"oom", last, "--json"});
      claims_nothing(gap, {"graph", last});
      claims_nothing(gap, {"export", last, "--format", "json"});
      claims_nothing(gap, {"html", first, second, last, "-o", run + ".html", "--force"});
    }
  }
}

}  // namespace
}  // namespace tensorscope::testing
