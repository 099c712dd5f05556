// SPDX-License-Identifier: Apache-2.0
// What people see, word for word: each verb on synthetic dumps of a training program (golden_fixture.h).
// Covers: analyzer/cli/{check,diff,info}.cc
// Covers: analyzer/text/dump/{driver_table,group_table,headline,holders}.cc
// Covers: analyzer/memory/{compared_dumps,opened_dump}.cc
// Covers: analyzer/cli/{dump_options,leaks,list,report}.cc
// Covers: analyzer/text/dump/{change_table,live_table,module_table,segment_table}.cc analyzer/text/leaks/report.cc
// Covers: analyzer/cli/show.cc analyzer/text/dump/tensor_phrases.cc
// Covers: analyzer/leaks/leaks.cc analyzer/symbols/{places,frame_facts}.cc
// Covers: analyzer/ownership/{tensor_links,tensor_names}.cc
#include <gmock/gmock.h>

#include "golden_fixture.h"
#include "leak_dumps.h"
#include "segment_dump.h"

namespace tensorscope::testing {
namespace {

class GoldenTest : public GoldenFixture {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    for (int minute : {1, 2, 3}) {
      training_dump(minute, directory_.string()).write("train.4242." + std::to_string(minute) + ".tscope");
      leaking_dump(minute, directory_.string()).write("leak." + std::to_string(minute) + ".tscope");
    }
    other_run_dump().write("train.5555.exit.tscope");
    native_dump().write("server.4242.1.tscope");
    DumpBuilder().write("empty.tscope");
    segment_dump().write("cuda.tscope");
    for (const auto limit : {format::NamesLimit::time, format::NamesLimit::memory}) {
      DumpBuilder held = held_dump(5, directory_.string());
      held.references_complete = false;
      held.names_stopped_by = limit;
      held.write(limit == format::NamesLimit::time ? "time.4242.5.tscope" : "memory.4242.5.tscope");
    }
    for (int steps : {2, 5}) {
      held_dump(steps, directory_.string()).write("held.4242." + std::to_string(steps) + ".tscope");
    }
  }
};

const char* const kFirst = "train.4242.1.tscope";
const char* const kSecondDump = "train.4242.2.tscope";
const char* const kThird = "train.4242.3.tscope";
const char* const kHeld = "held.4242.5.tscope";

TEST_F(GoldenTest, Report) { expect("report", {"report", kSecondDump}); }
TEST_F(GoldenTest, ReportNarrow) { expect("report-narrow", {"report", kSecondDump}, 60); }
TEST_F(GoldenTest, ReportBySite) { expect("report-by-site", {"report", kSecondDump, "--by", "site", "--top", "4"}); }
TEST_F(GoldenTest, ReportByDtype) { expect("report-by-dtype", {"report", kSecondDump, "--by", "dtype"}); }
TEST_F(GoldenTest, ReportByModule) { expect("report-by-module", {"report", kSecondDump, "--by", "module"}); }
TEST_F(GoldenTest, ReportByCategory) { expect("report-by-category", {"report", kSecondDump, "--by", "category"}); }
TEST_F(GoldenTest, ReportFiltered) {
  expect("report-filtered", {"report", kSecondDump, "--file", "train.py", "--min-size", "32K", "--full-stacks"});
}
TEST_F(GoldenTest, ReportNative) { expect("report-native", {"report", "server.4242.1.tscope", "--no-symbols"}); }
TEST_F(GoldenTest, ReportOfNamesUpToALimit) {
  expect("report-names-limit", {"report", "time.4242.5.tscope", "--top", "2"});
}
TEST_F(GoldenTest, InfoOfNamesUpToALimit) { expect("info-names-limit", {"info", "memory.4242.5.tscope"}); }
TEST_F(GoldenTest, ReportEmpty) { expect("report-empty", {"report", "empty.tscope"}); }
TEST_F(GoldenTest, ReportSegments) { expect("report-segments", {"report", "cuda.tscope", "--segments"}); }
TEST_F(GoldenTest, ReportSegmentsNarrow) {
  expect("report-segments-narrow", {"report", "cuda.tscope", "--segments", "--top", "2"}, 60);
}
TEST_F(GoldenTest, ReportSegmentsOfTheCpu) { expect("report-segments-cpu", {"report", kFirst, "--segments"}); }
TEST_F(GoldenTest, List) { expect("list", {"list", kFirst, "--top", "12"}); }
TEST_F(GoldenTest, ListViews) { expect("list-views", {"list", kFirst, "--file", "train.py:52", "--file", "data.py"}); }
TEST_F(GoldenTest, Show) { expect("show", {"show", kFirst, "#90", "35", "2"}); }
TEST_F(GoldenTest, ShowNative) { expect("show-native", {"show", "server.4242.1.tscope", "5", "--no-symbols"}); }
TEST_F(GoldenTest, Diff) { expect("diff", {"diff", kFirst, kSecondDump}); }
TEST_F(GoldenTest, DiffSeveral) { expect("diff-several", {"diff", kThird, kFirst, kSecondDump}); }
TEST_F(GoldenTest, DiffOtherRun) { expect("diff-other-run", {"diff", kFirst, "train.5555.exit.tscope"}); }
TEST_F(GoldenTest, CheckFound) { expect("check-found", {"check", kFirst, kSecondDump, "--max-growth", "1M"}); }
TEST_F(GoldenTest, CheckLive) { expect("check-live", {"check", kFirst, "--max-live", "1M", "--top", "2"}); }
TEST_F(GoldenTest, CheckHolds) {
  expect("check-holds", {"check", kFirst, kSecondDump, "--max-growth", "10M", "--max-live", "1G"});
}
TEST_F(GoldenTest, Leaks) { expect("leaks", {"leaks", "leak.1.tscope", "leak.2.tscope", "leak.3.tscope"}); }
TEST_F(GoldenTest, LeaksNarrow) {
  expect("leaks-narrow", {"leaks", "leak.3.tscope", "leak.1.tscope", "leak.2.tscope", "--top", "3"}, 60);
}
TEST_F(GoldenTest, LeaksTwoDumps) { expect("leaks-two-dumps", {"leaks", "leak.1.tscope", "leak.2.tscope"}); }
TEST_F(GoldenTest, LeaksOneDump) { expect("leaks-one-dump", {"leaks", "leak.1.tscope"}); }
TEST_F(GoldenTest, LeaksFiltered) {
  expect("leaks-filtered",
         {"leaks", "leak.1.tscope", "leak.2.tscope", "leak.3.tscope", "--function", "main", "--json"});
}
TEST_F(GoldenTest, LeaksWithoutHolders) { expect("leaks-without-holders", {"leaks", kFirst, kSecondDump}); }
TEST_F(GoldenTest, LeaksOtherRun) { expect("leaks-other-run", {"leaks", kFirst, "train.5555.exit.tscope"}); }
TEST_F(GoldenTest, HeldReport) { expect("held-report", {"report", kHeld}); }
TEST_F(GoldenTest, HeldReportNarrow) { expect("held-report-narrow", {"report", kHeld, "--top", "4"}, 72); }
TEST_F(GoldenTest, HeldModules) { expect("held-modules", {"report", kHeld, "--modules"}); }
TEST_F(GoldenTest, HeldModulesFull) { expect("held-modules-full", {"report", kHeld, "--modules", "--full"}, 80); }
TEST_F(GoldenTest, HeldByModule) { expect("held-by-module", {"report", kHeld, "--by", "module", "--top", "0"}); }
TEST_F(GoldenTest, HeldByHolder) { expect("held-by-holder", {"report", kHeld, "--by", "holder"}); }
TEST_F(GoldenTest, HeldByCategory) { expect("held-by-category", {"report", kHeld, "--by", "category"}); }
TEST_F(GoldenTest, HeldList) { expect("held-list", {"list", kHeld, "--top", "16"}, 140); }
TEST_F(GoldenTest, HeldListFiltered) {
  expect("held-list-filtered", {"list", kHeld, "--holder", "history[1]", "--sort", "id"});
}
TEST_F(GoldenTest, HeldShow) { expect("held-show", {"show", kHeld, "2", "74", "114"}); }
TEST_F(GoldenTest, HeldDiff) { expect("held-diff", {"diff", "held.4242.2.tscope", kHeld}); }
TEST_F(GoldenTest, HeldExport) {
  const Result json = run({"export", kHeld, "--format", "json", "--stacks", "by-id"});
  EXPECT_THAT(json.out, ::testing::HasSubstr("\"names\":[\"model.wte.weight\"],\"category\":\"parameter\""));
  EXPECT_THAT(json.out, ::testing::HasSubstr("\"graph\":{\"complete\":true,\"detail\":null,\n\"nodes\":[\n{\"id\":0,"));
  EXPECT_THAT(json.out, ::testing::HasSubstr(
                            "\"saved\":[{\"slot\":\"result\",\"tensor\":74,\"state\":\"held\",\"output\":true}]"));
  const Result csv = run({"export", kHeld, "--format", "csv"});
  EXPECT_THAT(csv.out, ::testing::HasSubstr(",parameter,model.wte.weight,model.wte.weight,model.wte,"));
}
TEST_F(GoldenTest, Info) { expect("info", {"info", kFirst}); }

}  // namespace
}  // namespace tensorscope::testing
