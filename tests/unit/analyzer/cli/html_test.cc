// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/cli/html.cc analyzer/cli/child_dumps.cc analyzer/text/dump/first_sentences.cc
#include <gmock/gmock.h>

#include "command_fixture.h"
#include "html/packed.h"
#include "html/page.h"
#include "leak_dumps.h"
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

// As `leaks` says it of the same files: whether the children's dumps are given or lie beside their parent's.
TEST_F(HtmlTest, SaysOfAProcessAndItsChildrenWhatLeaksSays) {
  std::vector<std::string> parent, family;
  for (int minute = 1; minute <= 3; ++minute) {
    const std::string name = "." + std::to_string(minute) + ".tscope";
    DumpBuilder quiet = training_dump(1);
    quiet.run_id = "run-parent";
    quiet.pid = 4200;
    quiet.dump_number = uint32_t(minute);
    quiet.dump_ns = quiet.start_ns + uint64_t(minute) * 60'000'000'000;
    quiet.write("parent" + name);
    DumpBuilder worker = leaking_dump(minute, directory_.string());
    worker.pid = 4300;
    worker.parent_pid = 4200;
    std::filesystem::create_directory("beside");
    worker.write("worker" + name);
    quiet.write("beside/parent" + name);
    worker.asked_by_run = "run-parent";
    worker.asked_by_dump = uint32_t(minute);
    worker.write("beside/worker" + name);
    parent.push_back("beside/parent" + name);
    family.insert(family.end(), {"worker" + name, "parent" + name});
  }
  for (const std::vector<std::string>& files : {family, parent}) {
    std::vector<std::string> leaks = {"leaks", "--top", "50"}, html = {"html", "-o", "report.html", "--force"};
    leaks.insert(leaks.end(), files.begin(), files.end());
    html.insert(html.end(), files.begin(), files.end());
    const Result said = run(leaks);
    EXPECT_EQ(said.status, 1) << said.err;
    EXPECT_THAT(said.out, HasSubstr("process 4300"));
    EXPECT_EQ(run(html).status, 0);
    const Unpacked page = data_of(file("report.html"));
    EXPECT_EQ(page.head["leaks"]["text"].get<std::string>(), said.out);
    EXPECT_EQ(page.head["dumps"].size(), files.size());
  }
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
