// SPDX-License-Identifier: Apache-2.0
// Every verb that shows names of functions says which libraries it could not read, in the same words, and so does its
// JSON; what was switched off is not said.
// Covers: analyzer/symbols/unread.cc analyzer/text/unread_words.cc
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command_fixture.h"
#include "html/packed.h"
#include "html/page.h"
#include "sample_dumps.h"

namespace tensorscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kUnreadWords =
    "could not be read here (such as /opt/libtorch/lib/libtorch_cpu.so), so what depends on names of functions may be "
    "missing, or be shown by address. Run this on the machine";

class UnreadTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    native_dump().write("server.4242.1.tscope");
    native_dump().write("server.4242.2.tscope");
    training_dump(1).write("train.4242.1.tscope");
  }
  // With the libraries looked for where there are none, and with names switched off.
  static void says(std::vector<std::string> arguments) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const std::vector<std::string> given = arguments;
    for (const char* more : {"--sysroot", "nowhere", "--no-cache"}) arguments.emplace_back(more);
    EXPECT_THAT(run(arguments).err, HasSubstr(kUnreadWords));
    arguments = given;
    arguments.emplace_back("--no-symbols");
    EXPECT_THAT(run(arguments).err, Not(HasSubstr("could not be read")));
  }
  static void has(std::vector<std::string> arguments) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    for (const char* more : {"--sysroot", "nowhere", "--no-cache"}) arguments.emplace_back(more);
    const Result result = run(arguments);
    const Json lacks = Json::parse(result.out)["not_read"];
    EXPECT_THAT(lacks["note"].get<std::string>(), HasSubstr(kUnreadWords));
    EXPECT_THAT(result.err, HasSubstr(lacks["note"].get<std::string>()));
    EXPECT_THAT(lacks["libraries"], ::testing::Contains("/opt/libtorch/lib/libtorch_cpu.so"));
    EXPECT_EQ(lacks["no_symbols"], false);
    arguments.emplace_back("--no-symbols");
    EXPECT_TRUE(Json::parse(run(arguments).out)["not_read"].is_null());
  }
};

const char* const kFirstServer = "server.4242.1.tscope";
const char* const kSecondServer = "server.4242.2.tscope";

TEST_F(UnreadTest, VerbsThatShowPlaces) {
  says({"report", kFirstServer});
  says({"list", kFirstServer});
  says({"show", kFirstServer, "5"});
  says({"diff", kFirstServer, kSecondServer, "--list"});
  says({"diff", kFirstServer, "train.4242.1.tscope"});
  says({"check", kFirstServer, "--max-live", "1"});
  says({"leaks", kFirstServer});
  says({"oom", kFirstServer});
  says({"ranks", kFirstServer});
}

TEST_F(UnreadTest, OneSentenceOfAllLibraries) {
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"report", kFirstServer, "--full-stacks"}, {"show", kFirstServer, "5"}}) {
    std::vector<std::string> arguments = asked;
    for (const char* more : {"--sysroot", "nowhere", "--no-cache"}) arguments.emplace_back(more);
    const std::string err = run(arguments).err;
    EXPECT_EQ(std::ranges::count(err, '\n'), 1) << err;
  }
}

// The rows of JSON are a list, so that what could not be read is a column.
TEST_F(UnreadTest, AQueryAsksForIt) {
  const auto asked = [](std::vector<std::string> arguments) {
    std::vector<std::string> all = {"query", kFirstServer, "select distinct object from frames where not_read",
                                    "--format", "json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Json::parse(run(all).out);
  };
  const Json lacks = asked({"--sysroot", "nowhere", "--no-cache"});
  EXPECT_THAT(lacks, ::testing::Contains(Json{{"object", "libtorch_cpu.so"}}));
  EXPECT_EQ(asked({"--sysroot", "nowhere", "--no-cache", "--no-symbols"}), Json::array());
}

TEST_F(UnreadTest, VerbsThatWriteOtherFormats) {
  for (const char* format : {"json", "csv", "folded", "memory-viz", "speedscope", "pprof", "openmetrics"}) {
    says({"export", kFirstServer, "--format", format});
  }
  says({"export", kFirstServer, "--format", "sqlite", "-o", "server.sqlite", "--force"});
  says({"query", kFirstServer, "select place from sites"});
  says({"query", kFirstServer, "select stack from stacks"});
  says({"query", kFirstServer, "select function from frames"});
}

TEST_F(UnreadTest, WhatShowsNoNamesHasNothingToSay) {
  using Arguments = std::vector<std::string>;
  for (const Arguments& arguments : {Arguments{"info", kFirstServer}, Arguments{"report", "train.4242.1.tscope"},
                                     Arguments{"list", "train.4242.1.tscope"},
                                     Arguments{"query", "train.4242.1.tscope", "select place from sites"}}) {
    EXPECT_THAT(run(arguments).err, Not(HasSubstr("could not be read here")));
  }
}

TEST_F(UnreadTest, JsonHasItAtItsRoot) {
  has({"export", kFirstServer, "--format", "json"});
  has({"leaks", kFirstServer, "--json"});
  has({"oom", kFirstServer, "--json"});
  has({"ranks", kFirstServer, "--json"});
  EXPECT_TRUE(Json::parse(run({"leaks", "train.4242.1.tscope", "--json"}).out)["not_read"].is_null());
}

TEST_F(UnreadTest, APageHasItAndAConfidentialOneNoFolder) {
  if (html::page_template().empty()) GTEST_SKIP() << html::why_no_page();
  const auto page = [](std::vector<std::string> options) {
    std::vector<std::string> arguments = {"html", kFirstServer, "-o", "page.html", "--force"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Result result = run(arguments);
    std::ifstream in("page.html");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return std::pair{data_of(text).head["not_read"], result.err};
  };
  const auto [lacks, err] = page({"--sysroot", "nowhere", "--no-cache"});
  EXPECT_THAT(lacks["note"].get<std::string>(), HasSubstr(kUnreadWords));
  EXPECT_THAT(err, HasSubstr(kUnreadWords));
  const auto [hidden, said] = page({"--sysroot", "nowhere", "--no-cache", "--confidential"});
  EXPECT_THAT(hidden["note"].get<std::string>(), HasSubstr("could not be read here (such as libtorch_cpu.so)"));
  EXPECT_THAT(hidden.dump(), Not(HasSubstr("/opt")));
  const auto [nothing, silence] = page({"--no-symbols"});
  EXPECT_TRUE(nothing.is_null());
  EXPECT_THAT(silence, IsEmpty());
}

}  // namespace
}  // namespace tensorscope::testing
