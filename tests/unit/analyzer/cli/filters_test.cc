// SPDX-License-Identifier: Apache-2.0
// Filters, columns and names as people type them: mistakes name the valid values, and tables add up.
// Covers: analyzer/text/dump/{change_list,list_columns}.cc analyzer/text/{choice_words,filter_words}.cc
// Covers: analyzer/memory/filter_values.cc analyzer/memory/nearest_words.cc
#include <gmock/gmock.h>

#include <sstream>

#include "command_fixture.h"
#include "golden_fixture.h"
#include "text/text.h"

namespace tensorscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const char* const kTrain = "train.4242.1.tscope";
const char* const kLater = "train.4242.2.tscope";
const char* const kHeldDump = "held.4242.5.tscope";

class FilterTest : public GoldenFixture {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    training_dump(1, directory_.string()).write(kTrain);
    training_dump(2, directory_.string()).write(kLater);
    held_dump(5, directory_.string()).write(kHeldDump);
  }
};

TEST_F(FilterTest, AMistakeIsToldWithWhatThereIs) {
  struct Case {
    std::vector<std::string> arguments;
    std::vector<const char*> said;
  };
  const std::vector<Case> cases = {
      {{"list", kTrain, "--dtype", "fp32"}, {"'fp32' for --dtype", "did you mean float32?", "float32, int64"}},
      {{"list", kTrain, "--dtype", "flaot32"}, {"did you mean float32?"}},
      {{"list", kTrain, "--device", "nosuch"}, {"'nosuch' for --device", "the dump has cpu, meta"}},
      {{"diff", kTrain, kLater, "--device", "nosuch"}, {"'nosuch' for --device", "the dump has cpu, meta"}},
      {{"list", kTrain, "--line", "nosuch.py"}, {"'nosuch.py' for --line", "train.py", "model.py"}},
      {{"list", kTrain, "--line", "trian.py:57"}, {"did you mean train.py?"}},
      {{"report", kTrain, "--category", "params"},
       {"'params' for --category", "did you mean parameter?", "optimizer-state"}},
      {{"check", kTrain, "--max-live", "1G", "--category", "weights"}, {"choose from parameter, buffer"}},
      {{"list", kTrain, "--shape", "large"}, {"'large' for --shape", "64,1024", "[256, 256]"}},
      {{"report", kTrain, "--by", "colour"}, {"'colour' for --by", "choose from site, line"}},
      {{"report", kTrain, "--by", "categories"}, {"did you mean category?"}},
      {{"list", kTrain, "--sort", "size"}, {"'size' for --sort", "choose from bytes, age"}},
      {{"list", kTrain, "--columns", "id,nmae"}, {"'nmae' for --columns", "did you mean name", "view-bytes"}},
      {{"list", kTrain, "--limit", "3"}, {"unknown option '--limit'; use --top"}},
      {{"list", kTrain, "--colums", "id"}, {"unknown option '--colums' for list", "did you mean --columns?"}},
      {{"reprot", kTrain}, {"unknown verb 'reprot'", "did you mean report?"}},
      {{"show", kHeldDump, "histroy[1]"}, {"no live tensor 'histroy[1]'", "train.py: history[1]"}},
      {{"list", kTrain, "--not-in-optimizer"}, {"--not-in-optimizer needs names"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(::testing::PrintToString(one.arguments));
    const Result result = run(one.arguments);
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.out, IsEmpty());
    for (const char* words : one.said) EXPECT_THAT(result.err, HasSubstr(words));
  }
}

TEST_F(FilterTest, AFilterThatMatchesNothingIsNamed) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{"--shape", "64x64"}, "nothing matches --shape '64x64'; the dump has [128, 128]"},
      {{"--dtype", "float16"}, "nothing matches --dtype 'float16'; the dump has float32, int64"},
      {{"--device", "cuda"}, "nothing matches --device 'cuda'; the dump has cpu, meta"},
      {{"--line", "train.py:99"}, "lines of train.py that created live tensors: 52, 57"},
      {{"--name", "nosuch"}, "nothing matches --name 'nosuch'; the dump has no names"},
      {{"--dtype", "int64", "--line", "train.py:57"}, "each filter matches something, but nothing matches all of them"},
      {{"--dtype", "int64", "--min-size", "1G"}, "nothing matches --min-size"}};
  for (const auto& [filter, said] : cases) {
    for (std::vector<std::string> verb :
         {std::vector<std::string>{"list", kTrain}, {"report", kTrain}, {"diff", kTrain, kLater}}) {
      verb.insert(verb.end(), filter.begin(), filter.end());
      SCOPED_TRACE(::testing::PrintToString(verb));
      const Result result = run(verb);
      EXPECT_EQ(result.status, 0);
      EXPECT_THAT(result.out, HasSubstr(said));
    }
  }
  EXPECT_THAT(run({"list", kHeldDump, "--name", "histroy"}).out, HasSubstr("the dump has train.py: history"));
  EXPECT_THAT(run({"check", kTrain, "--max-live", "1", "--device", "cuda"}).err, HasSubstr("nothing matches --device"));
}

TEST_F(FilterTest, NamesMatchWithoutTheirScope) {
  EXPECT_THAT(run({"list", kHeldDump, "--name", "hist*"}).out, HasSubstr("5 tensors"));
  EXPECT_THAT(run({"list", kHeldDump, "--name", "history[[]?]"}).out, HasSubstr("nothing matches"));
  EXPECT_THAT(run({"list", kHeldDump, "--name", "history[?]"}).out, HasSubstr("5 tensors"));
}

// The rows of a list have the bytes that its last line says.
TEST_F(FilterTest, TheRowsOfAListAddUp) {
  for (const std::vector<std::string>& filter : {std::vector<std::string>{"--line", "train.py:52"},
                                                 {"--line", "data.py"},
                                                 {"--shape", "16,64"},
                                                 {"--dtype", "int64"}}) {
    std::vector<std::string> arguments = {"--bytes", "list", kTrain, "--columns", "bytes"};
    arguments.insert(arguments.end(), filter.begin(), filter.end());
    std::istringstream out(run(arguments).out);
    uint64_t sum = 0, total = UINT64_MAX;
    for (std::string line; std::getline(out, line);) {
      std::string digits;
      for (char c : line.substr(0, line.find(" B"))) digits += isdigit(c) ? std::string(1, c) : "";
      if (line.find("tensor") == std::string::npos && !digits.empty()) sum += std::stoull(digits);
      if (const size_t comma = line.find("tensors, "); comma != std::string::npos) {
        digits.clear();
        for (char c : line.substr(comma, line.find(" B;") - comma)) digits += isdigit(c) ? std::string(1, c) : "";
        total = std::stoull(digits);
      }
    }
    EXPECT_EQ(sum, total) << ::testing::PrintToString(filter);
  }
}

// The number at the end of the first column's words, in a line of the table of what is live.
uint64_t exact(const std::string& line) {
  const size_t end = line.find(" B");
  const size_t begin = line.rfind("  ", end) + 2;
  std::string digits;
  for (char c : line.substr(begin, end - begin)) digits += isdigit(c) ? std::string(1, c) : "";
  return digits.empty() ? 0 : std::stoull(digits);
}

TEST_F(FilterTest, WhatATensorIsForIsNeverMoreThanTheLineAboveIt) {
  std::istringstream out(run({"report", kTrain, "--bytes"}).out);
  uint64_t in_tensors = 0, categories = 0;
  bool inside = false;
  for (std::string line; std::getline(out, line);) {
    if (line.starts_with("    in tensors")) {
      in_tensors = exact(line);
      inside = true;
    } else if (inside && line.starts_with("      ")) {
      categories += exact(line);
    } else {
      inside = false;
    }
  }
  EXPECT_GT(in_tensors, 0u);
  EXPECT_EQ(categories, in_tensors) << "what lies in shared memory stands below its own line";
}

TEST_F(FilterTest, PlaceAndNameStayReadableInANarrowTerminal) {
  for (int width : {80, 120, 220}) {
    std::istringstream out(run({"list", kHeldDump, "--top", "8"}, width).out);
    size_t rows = 0;
    for (std::string line; std::getline(out, line);) {
      EXPECT_LE(text::columns(line), width) << line;
      if (!line.starts_with("#")) continue;
      ++rows;
      EXPECT_THAT(line, AllOf(HasSubstr("model.layers."), HasSubstr(".attn.out"), HasSubstr("model.py:88"),
                              HasSubstr("  Att")));
    }
    EXPECT_EQ(rows, 8u) << width;
  }
}

TEST_F(FilterTest, ExactBytes) {
  EXPECT_THAT(run({"list", kTrain, "--top", "1", "--bytes"}).out, HasSubstr("262,144 B"));
  EXPECT_THAT(run({"report", kTrain, "--bytes"}).out, Not(HasSubstr("KiB")));
  EXPECT_THAT(run({"list", kTrain, "--top", "1"}).out, HasSubstr("256.0 KiB"));
}

TEST_F(FilterTest, ShowTakesNames) {
  for (const char* name : {"train.py: history[1]", "history[1]", "#114", "114"}) {
    EXPECT_THAT(run({"show", kHeldDump, name}).out, HasSubstr("tensor #114 ")) << name;
  }
}

TEST_F(FilterTest, ExportReplacesNothingUnasked) {
  const std::vector<std::string> export_csv = {"export", kTrain, "--format", "csv", "-o", "a.csv"};
  EXPECT_EQ(run(export_csv).status, 0);
  const Result again = run(export_csv);
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("a.csv already exists; use --force to overwrite it."));
  EXPECT_EQ(run({"export", kTrain, "--format", "csv", "-o", "a.csv", "--force"}).status, 0);
}

TEST_F(FilterTest, HintsCanBePasted) {
  training_dump(1).write("my run.4242.1.tscope");
  EXPECT_THAT(run({"report", "my run.4242.1.tscope"}).out,
              HasSubstr("tensorscope report 'my run.4242.1.tscope' --by site"));
}

TEST_F(FilterTest, ListColumns) {
  expect("list-columns", {"list", kHeldDump, "--top", "6", "--columns",
                          "id,view-bytes,requires-grad,grad,class,type,names", "--name", "model.*"});
}
TEST_F(FilterTest, ListNarrow) { expect("list-narrow", {"list", kHeldDump, "--top", "8"}, 80); }
TEST_F(FilterTest, ListWide) { expect("list-wide", {"list", kHeldDump, "--top", "8"}, 220); }
TEST_F(FilterTest, DiffList) { expect("diff-list", {"diff", kTrain, kLater, "--list", "--top", "12"}); }
TEST_F(FilterTest, NotInOptimizer) { expect("list-not-in-optimizer", {"list", kHeldDump, "--not-in-optimizer"}); }

TEST_F(FilterTest, AReportTellsMemoryOutsideOfTensorsWhereItIsTheMost) {
  const auto report_with = [&](uint64_t in_use, uint64_t kept) {
    DumpBuilder builder = training_dump(1, directory_.string());
    builder.heap_in_use = in_use << 20;
    builder.heap_free = kept << 20;
    builder.write(kTrain);
    return run({"report", kTrain}).out;
  };
  EXPECT_THAT(report_with(40, 20), Not(HasSubstr("outside of tensors")));
  const std::string told = report_with(150, 202);
  EXPECT_THAT(told, HasSubstr("MiB of 500.0 MiB resident: 202.0 MiB free memory kept by malloc, "));
  EXPECT_LT(told.find("outside of tensors"), told.find("Recorded: "));
}

}  // namespace
}  // namespace tensorscope::testing
