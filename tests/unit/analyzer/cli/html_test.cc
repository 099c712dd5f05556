// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/cli/html.cc analyzer/text/dump/first_sentences.cc
#include <gmock/gmock.h>

#include "command_fixture.h"
#include "html/packed.h"
#include "html/page.h"
#include "sample_dumps.h"

namespace tensorscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HtmlTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    training_dump(1).write("train.1.tscope");
    training_dump(2).write("train.2.tscope");
    if (html::page_template().empty()) GTEST_SKIP() << html::why_no_page();
  }
  static std::string file(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(HtmlTest, WritesAPageOfSeveralDumps) {
  const Result result = run({"html", "train.1.tscope", "train.2.tscope", "-o", "report.html"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out + result.err, IsEmpty());
  const Unpacked page = data_of(file("report.html"));
  ASSERT_EQ(page.head["dumps"].size(), 2u);
  const Result report = run({"report", "train.2.tscope"});
  EXPECT_THAT(report.out, HasSubstr(page.head["dumps"][1]["answer"].get<std::string>()));
}

TEST_F(HtmlTest, KeepsAFileThatIsThere) {
  std::ofstream("report.html") << "mine";
  const Result refused = run({"html", "train.1.tscope", "-o", "report.html"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(file("report.html"), "mine");
  EXPECT_EQ(run({"html", "train.1.tscope", "-o", "report.html", "--force"}).status, 0);
  EXPECT_THAT(file("report.html"), HasSubstr("<!doctype html>"));
}

TEST_F(HtmlTest, WritesNothingWhereADumpIsMissing) {
  const Result result = run({"html", "none.tscope", "-o", "report.html"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("none.tscope"));
  EXPECT_FALSE(std::filesystem::exists("report.html"));
}

TEST_F(HtmlTest, NamesNothingOutsideOfTheFile) {
  hostile_dump().write("evil.tscope");
  EXPECT_EQ(run({"html", "evil.tscope", "-o", "report.html"}).status, 0);
  std::string page = file("report.html");
  const std::string svg = "http://www.w3.org/2000/svg";  // the name of a format: nothing is loaded by it
  for (size_t at; (at = page.find(svg)) != std::string::npos;) page.erase(at, svg.size());
  EXPECT_EQ(page.find("://"), std::string::npos);
  EXPECT_EQ(page.find("0;owned"), std::string::npos) << "a text of the dump stands outside of the packed data";
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

}  // namespace
}  // namespace tensorscope::testing
