// SPDX-License-Identifier: Apache-2.0
// The command line itself: help, misuse, bad and damaged input, text that attacks the terminal.
#include <gmock/gmock.h>

#include <sstream>

#include "command_fixture.h"
#include "text/text.h"

namespace tensorscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::vector<std::string> kVerbs = {"run",  "snapshot", "stop",  "start", "report", "list",
                                         "show", "diff",     "check", "info",  "export"};

// One line, and it says whose.
void expect_one_line(const std::string& err) {
  EXPECT_THAT(err, StartsWith("tensorscope: "));
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
}

class CommandLineTest : public CommandTest {};

TEST_F(CommandLineTest, NothingSaidIsHelpAndMisuse) {
  Result result = run({});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, IsEmpty());
  for (const std::string& verb : kVerbs) EXPECT_THAT(result.err, HasSubstr("  " + verb + " "));
}

TEST_F(CommandLineTest, EachVerbsHelpHasExamples) {
  EXPECT_EQ(run({"--help"}).status, 0);
  for (const std::string& verb : kVerbs) {
    Result result = run({verb, "--help"});
    EXPECT_EQ(result.status, 0) << verb;
    EXPECT_THAT(result.out, HasSubstr("Usage: tensorscope " + verb)) << verb;
    EXPECT_THAT(result.out, HasSubstr("  tensorscope " + verb)) << "an example of " << verb;
    EXPECT_THAT(result.err, IsEmpty());
  }
}

TEST_F(CommandLineTest, Version) {
  Result result = run({"--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "tensorscope " TENSORSCOPE_VERSION "\n");
}

TEST_F(CommandLineTest, TopTakesNoNamesFromFiles) {
  Result result = run({"top", "1", "--names-from", "a.tscope"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "tensorscope: unknown option '--names-from' for top (see tensorscope top --help)\n");
}

TEST_F(CommandLineTest, ANumberOutOfItsRange) {
  EXPECT_EQ(
      run({"report", "a.tscope", "--top", "ten"}).err,
      "tensorscope: invalid value 'ten' for --top; numbers from 0 to 1073741824 (see tensorscope report --help)\n");
  EXPECT_EQ(
      run({"compare", "a", "b", "--atol", "-0.5"}).err,
      "tensorscope: invalid value '-0.5' for --atol; numbers from 0 to 1e+300 (see tensorscope compare --help)\n");
}

TEST_F(CommandLineTest, MisuseIsOneLineAndStatusTwo) {
  training_dump(1).write("a.tscope");
  const std::vector<std::vector<std::string>> mistakes = {{"frobnicate"},
                                                          {"report"},
                                                          {"report", "a.tscope", "--by", "colour"},
                                                          {"report", "a.tscope", "--min-size", "big"},
                                                          {"report", "a.tscope", "--min-age", "old"},
                                                          {"report", "a.tscope", "--stack", "("},
                                                          {"report", "a.tscope", "--category", "weights"},
                                                          {"report", "a.tscope", "--top", "-1"},
                                                          {"report", "a.tscope", "--colour"},
                                                          {"report", "a.tscope", "b.tscope"},
                                                          {"show", "a.tscope"},
                                                          {"show", "a.tscope", "x"},
                                                          {"show", "a.tscope", "99999"},
                                                          {"diff", "a.tscope"},
                                                          {"check", "a.tscope"},
                                                          {"check", "a.tscope", "--max-growth", "1M"},
                                                          {"export", "a.tscope"},
                                                          {"export", "a.tscope", "--format", "xml"},
                                                          {"export", "a.tscope", "--format", "csv", "-o", "no/such/x"},
                                                          {"snapshot", "0"},
                                                          {"snapshot", "x"},
                                                          {"run"},
                                                          {"run", "--"},
                                                          {"--color", "sometimes", "info", "a.tscope"}};
  for (const auto& arguments : mistakes) {
    Result result = run(arguments);
    SCOPED_TRACE(::testing::PrintToString(arguments));
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.out, IsEmpty());
    expect_one_line(result.err);
  }
}

TEST_F(CommandLineTest, WhatIsNoDumpIsOneLineAndStatusTwo) {
  std::ofstream("empty.tscope");
  std::ofstream("text.tscope") << "hello\nworld\n";
  std::filesystem::create_directory("directory.tscope");
  for (const char* path : {"missing.tscope", "empty.tscope", "text.tscope", "directory.tscope"}) {
    for (const char* verb : {"report", "list", "info"}) {
      Result result = run({verb, path});
      SCOPED_TRACE(std::string(verb) + " " + path);
      EXPECT_EQ(result.status, 2);
      EXPECT_THAT(result.out, IsEmpty());
      expect_one_line(result.err);
      EXPECT_THAT(result.err, HasSubstr(path));
    }
  }
}

TEST_F(CommandLineTest, ADamagedDumpIsShownAsFarAsItGoes) {
  std::string bytes = training_dump(2).bytes();
  std::ofstream("cut.tscope", std::ios::binary) << bytes.substr(0, bytes.size() * 2 / 3);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"report", "cut.tscope"},
                                                    {"list", "cut.tscope"},
                                                    {"info", "cut.tscope"},
                                                    {"diff", "cut.tscope", "cut.tscope"},
                                                    {"check", "cut.tscope", "--max-live", "1G"},
                                                    {"export", "cut.tscope", "--format", "json"}}) {
    Result result = run(arguments);
    SCOPED_TRACE(::testing::PrintToString(arguments));
    EXPECT_EQ(result.status, 2);
    EXPECT_FALSE(result.out.empty());
    EXPECT_THAT(result.err, HasSubstr("cut"));
  }
}

TEST_F(CommandLineTest, EveryTruncationIsAnswered) {
  std::string bytes = training_dump(1).bytes();
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 40) {
    std::ofstream("cut.tscope", std::ios::binary | std::ios::trunc) << bytes.substr(0, size);
    EXPECT_EQ(run({"report", "cut.tscope"}).status, 2) << size;
  }
}

// No verb lets a control character through, but for line ends and its own colours.
TEST_F(CommandLineTest, TextFromADumpCannotReachTheTerminal) {
  hostile_dump().write("evil.tscope");
  const std::vector<std::vector<std::string>> commands = {{"report", "evil.tscope"},
                                                          {"report", "evil.tscope", "--by", "site", "--full-stacks"},
                                                          {"report", "evil.tscope", "--by", "thread"},
                                                          {"report", "evil.tscope", "--by", "module"},
                                                          {"list", "evil.tscope"},
                                                          {"show", "evil.tscope", "2", "--full"},
                                                          {"diff", "evil.tscope", "evil.tscope"},
                                                          {"check", "evil.tscope", "--max-live", "0"},
                                                          {"info", "evil.tscope"},
                                                          {"export", "evil.tscope", "--format", "folded"},
                                                          {"report", "no\033[2Jfile"}};
  for (const auto& arguments : commands) {
    Result result = run(arguments, 100);
    SCOPED_TRACE(::testing::PrintToString(arguments));
    for (char c : result.out + result.err) {
      EXPECT_TRUE(c == '\n' || (uint8_t(c) >= 0x20 && uint8_t(c) != 0x7f)) << int(uint8_t(c));
    }
    EXPECT_EQ((result.out + result.err).find("\u202e"), std::string::npos);
  }
}

TEST_F(CommandLineTest, LinesFitTheTerminal) {
  training_dump(2).write("a.tscope");
  for (int width : {60, 80, 120}) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"list", "a.tscope"}, {"info", "a.tscope"}, {"show", "a.tscope", "38"}}) {
      std::istringstream out(run(arguments, width).out);
      for (std::string line; std::getline(out, line);) EXPECT_LE(text::columns(line), width) << line;
    }
  }
}

TEST_F(CommandLineTest, ColourIsAskedForNotAssumed) {
  training_dump(1).write("a.tscope");
  EXPECT_EQ(run({"report", "a.tscope"}).out.find('\033'), std::string::npos);
  EXPECT_NE(run({"report", "a.tscope"}, 0, true).out.find('\033'), std::string::npos);
}

TEST_F(CommandLineTest, ExportWritesAFileWholeOrNotAtAll) {
  training_dump(1).write("a.tscope");
  Result printed = run({"export", "a.tscope", "--format", "csv"});
  EXPECT_EQ(printed.status, 0);
  EXPECT_THAT(printed.out, HasSubstr("optimizer state"));
  EXPECT_EQ(run({"export", "a.tscope", "--format", "csv", "-o", "a.csv"}).status, 0);
  std::ifstream file("a.csv");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), printed.out);
  std::filesystem::create_directory("folder.csv");
  EXPECT_EQ(run({"export", "a.tscope", "--format", "csv", "-o", "folder.csv"}).status, 2);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) files += entry.is_regular_file();
  EXPECT_EQ(files, 2u) << "nothing temporary stays behind";
}

}  // namespace
}  // namespace tensorscope::testing
