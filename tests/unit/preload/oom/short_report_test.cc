// SPDX-License-Identifier: Apache-2.0
#include "oom/short_report.h"

#include <gtest/gtest.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/process_info.h"

namespace tensorscope::oom {
namespace {

std::vector<std::string> lines_of(const ReportText& text) {
  std::vector<std::string> lines;
  std::string all(text.text(), text.size());
  for (size_t at = 0; at < all.size();) {
    const size_t end = all.find('\n', at);
    EXPECT_NE(end, std::string::npos) << "the last line has no end";
    if (end == std::string::npos) break;
    lines.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  EXPECT_EQ(lines.size(), text.lines());
  return lines;
}

std::vector<std::string> report(const ReportFacts& facts) {
  ReportText text;
  write_report(facts, text);
  return lines_of(text);
}

bool has(const std::vector<std::string>& lines, const std::string& wanted) {
  return std::find(lines.begin(), lines.end(), wanted) != lines.end();
}
bool contains(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(), [&](const auto& line) { return line.find(part) != line.npos; });
}

ReportFacts cuda() {
  ReportFacts facts;
  facts.failure.kind = dump::Kind::device;
  facts.failure.device = facts.device = {1, 0};
  facts.failure.requested = uint64_t{2} << 30;
  strcpy(facts.place, "train.py:57 train_step");
  facts.holdings_known = true;
  return facts;
}

// Everything is known, and all of it is long.
ReportFacts full() {
  ReportFacts facts = cuda();
  facts.failure.limit = SystemLimit::cgroup;
  facts.failure.limit_bytes = uint64_t{64} << 30;
  facts.failure.left_bytes = 1;
  memset(facts.place, 'p', sizeof(facts.place) - 1);
  memset(facts.node, 'n', sizeof(facts.node) - 1);
  memset(facts.forward, 'f', sizeof(facts.forward) - 1);
  memset(facts.thread, 't', sizeof(facts.thread) - 1);
  facts.allocated = uint64_t{71} << 30;
  facts.reserved = uint64_t{76} << 30;
  facts.largest_free = uint64_t{1} << 30;
  facts.driver_total = uint64_t{80} << 30;
  facts.driver_free = uint64_t{1} << 20;
  facts.bytes = uint64_t{71} << 30;
  for (size_t i = 0; i < kCategories; ++i) facts.categories[i] = {Category(i), uint64_t{1} << 30, UINT64_MAX};
  for (ReportFacts::Site& site : facts.sites) {
    site.bytes = uint64_t{1} << 30;
    site.items = UINT64_MAX;
    memset(site.place, 's', sizeof(site.place) - 1);
    memset(site.names, 'm', sizeof(site.names) - 1);
  }
  facts.garbage = uint64_t{3} << 30;
  facts.names_missing = "the GIL was not free within the time limit (TENSORSCOPE_NAMES_TIMEOUT_MS)";
  facts.path = "/home/u/train.4242.oom.tscope";
  facts.summary = "(312 tensors, 71.00 GiB live) in 41 ms";
  return facts;
}

TEST(ShortReport, NamesTheDumpThatHasNames) {
  ReportFacts facts = cuda();
  facts.earlier = "/home/u/it's/train.4242.low-memory-1.tscope";
  facts.earlier_age_ns = uint64_t{3} * 1'000'000'000;
  EXPECT_FALSE(contains(report(facts), "names: see"));
  facts.names_missing = "not enough memory";
  EXPECT_TRUE(contains(report(facts), "names: see '/home/u/it'\\''s/train.4242.low-memory-1.tscope', written 3"));
}

TEST(ShortReport, SaysHowManyHaveNoName) {
  ReportFacts facts = cuda();
  facts.names_missing = "not enough memory";
  facts.tensors = 200'000;
  facts.unnamed = 183'000;
  EXPECT_TRUE(contains(report(facts),
                       "names of up to 183,000 of 200,000 tensors and unreachable cycles are unknown: "
                       "not enough memory"));
  facts.unnamed = facts.tensors;
  EXPECT_TRUE(contains(report(facts), "  names and unreachable cycles are unknown: not enough memory"));
}

TEST(ShortReport, OtherProcessesThatHaveMostComeFirst) {
  ReportFacts facts = full();
  facts.failure.kind = dump::Kind::low_memory;
  facts.failure.limit = SystemLimit::cgroup;
  facts.failure.limit_bytes = uint64_t{80} << 30;
  facts.other_processes = uint64_t{60} << 30;
  const auto lines = report(facts);
  EXPECT_LE(lines.size(), kReportLines);
  EXPECT_EQ(lines[3], "  other processes have 60.00 GiB of it, more than this one");
}

TEST(ShortReport, SharedMemoryIsToldByWhoHoldsIt) {
  dump::SharedFiles shared;
  ReportFacts facts = full();
  facts.failure.kind = dump::Kind::low_memory;
  facts.failure.limit = SystemLimit::shared_memory;
  facts.failure.requested = 0;
  facts.failure.limit_bytes = uint64_t{64} << 20;
  facts.failure.left_bytes = uint64_t{1} << 20;
  facts.shared = &shared;
  shared.detail = "it took too long";
  EXPECT_TRUE(contains(report(facts), "  who holds it is unknown: it took too long"));
  shared.detail = "";
  shared.looked = true;
  shared.count = 6;
  for (size_t i = 0; i < shared.count; ++i) {
    shared.holders[i].pid = uint32_t(i == 0 ? getpid() : i == 1 ? 0 : 40 + i);
    shared.holders[i].files = uint32_t(i + 1);
    shared.holders[i].bytes = 10 - i;
    strcpy(shared.holders[i].name, i == 1 ? "psm_1234" : "python");
  }
  start_process_info();
  const auto lines = report(facts);
  EXPECT_EQ(lines[0], "tensorscope: shared memory is nearly used up: 1.0 MiB left");
  EXPECT_TRUE(has(lines, "  shared memory (/dev/shm): 64.0 MiB, of which 1.0 MiB was left"));
  EXPECT_TRUE(has(lines, "           9 B 2 files, no process: psm_1234 and others")) << ::testing::PrintToString(lines);
  EXPECT_TRUE(has(lines, "           8 B 3 files, process 42 (python)"));
  EXPECT_TRUE(has(lines, "    and 2 more"));
  EXPECT_FALSE(contains(lines, "largest allocation sites"));  // torch's allocator has none of it
  EXPECT_EQ(lines.back(), "  read more: tensorscope oom /home/u/train.4242.oom.tscope");
}

TEST(ShortReport, WhatTheDriverDoesNotReportOfOthersIsNotNothing) {
  ReportFacts facts = full();
  facts.driver_total = uint64_t{80} << 30;
  facts.driver_free = uint64_t{1} << 30;
  facts.others = uint64_t{2} << 30;
  EXPECT_TRUE(contains(report(facts), ", others hold 2.00 GiB"));
  facts.others_unknown = true;
  EXPECT_TRUE(contains(report(facts), ", others hold at least 2.00 GiB"));
  facts.others = 0;
  EXPECT_TRUE(contains(report(facts), ", what others hold is not known"));
}

TEST(ShortReport, SaysHowManyTensorsWereLookedAt) {
  ReportFacts facts = full();
  facts.tensors = 200'000;
  facts.looked_at = 200'000;
  EXPECT_TRUE(has(report(facts), "  who has the 71.00 GiB on cuda:0:"));
  facts.looked_at = 1'200;
  EXPECT_TRUE(has(report(facts), "  who has the 71.00 GiB on cuda:0 (the largest 1,200 of 200,000 tensors):"));
}

TEST(ShortReport, NeverMoreThanItsLines) {
  for (const dump::Kind kind :
       {dump::Kind::unknown, dump::Kind::device, dump::Kind::host, dump::Kind::pinned, dump::Kind::low_memory}) {
    ReportFacts facts = full();
    facts.failure.kind = kind;
    const auto lines = report(facts);
    EXPECT_LE(lines.size(), kReportLines);
    EXPECT_EQ(lines.back(), "  read more: tensorscope oom /home/u/train.4242.oom.tscope");
    for (const std::string& line : lines) EXPECT_LT(line.size(), ReportText::kColumns);
    EXPECT_TRUE(contains(lines, "names and unreachable cycles are unknown: the GIL was not free"));
  }
}

TEST(ShortReport, SaysWhatWasAskedForAndWhere) {
  const auto lines = report(cuda());
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[0], "tensorscope: CUDA out of memory on cuda:0 while asking for 2.00 GiB");
  EXPECT_EQ(lines[1], "  at train.py:57 train_step");
  EXPECT_TRUE(contains(lines, "no live memory on cuda:0 was recorded"));
}

TEST(ShortReport, NothingKnown) {
  const auto lines = report(ReportFacts());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "tensorscope: out of memory");
  EXPECT_EQ(lines[1], "  at (no stack)");
}

TEST(ShortReport, EachKind) {
  ReportFacts facts;
  facts.failure.requested = 1024;
  facts.failure.left_bytes = 2048;
  const auto headline = [&](dump::Kind kind) {
    facts.failure.kind = kind;
    return report(facts)[0];
  };
  EXPECT_EQ(headline(dump::Kind::host), "tensorscope: out of memory on the CPU while asking for 1.0 KiB");
  EXPECT_EQ(headline(dump::Kind::pinned), "tensorscope: out of page-locked host memory while asking for 1.0 KiB");
  EXPECT_EQ(headline(dump::Kind::low_memory),
            "tensorscope: memory is nearly used up: 2.0 KiB left with the 1.0 KiB that are asked for now");
  facts.failure.device = {12, 3};
  EXPECT_EQ(headline(dump::Kind::device), "tensorscope: out of memory on device:3 while asking for 1.0 KiB");
}

TEST(ShortReport, WhoHasItAndWhatCouldGo) {
  ReportFacts facts = cuda();
  facts.bytes = 1000 << 20;
  facts.categories[0] = {Category::saved_activation, 998 << 20, 96};
  facts.categories[1] = {Category::workspace, 2 << 20, 1};
  facts.sites[0] = {512 << 20, 128, "train.py:57 train_step", "train.py: losses[0..127] (list)"};
  facts.allocated = uint64_t{1000} << 20;
  facts.reserved = uint64_t{4000} << 20;
  facts.largest_free = 400 << 20;
  facts.garbage = 4 << 20;
  const auto lines = report(facts);
  EXPECT_TRUE(has(lines, "  torch's allocator on cuda:0: 1000.0 MiB in use, 2.93 GiB cached"));
  EXPECT_TRUE(has(lines, "  who has the 1000.0 MiB on cuda:0:"));
  EXPECT_TRUE(has(lines, "    saved activation      998.0 MiB  100 %  96 storages"));
  EXPECT_TRUE(has(lines, "    in no tensor            2.0 MiB   <1 %  1 block"));
  EXPECT_TRUE(has(lines, "     512.0 MiB    128 x  train.py:57 train_step   train.py: losses[0..127] (list)"));
  EXPECT_TRUE(has(lines,
                  "  could be freed: 2.93 GiB cached by torch, largest block 400.0 MiB (fragmented: expandable "
                  "segments would make it usable)"));
  EXPECT_TRUE(has(lines, "                  4.0 MiB in unreachable cycles (gc.collect())"));
}

TEST(ShortReport, APathIsNeverCutAndFitForAShell) {
  ReportFacts facts = cuda();
  const std::string path = "/" + std::string(3000, 'd') + "/a b.tscope";
  facts.path = path.c_str();
  EXPECT_EQ(report(facts).back(), "  read more: tensorscope oom '" + path + "'");
}

TEST(ReportText, WhatATerminalShouldNotGetIsReplaced) {
  ReportText text;
  text.line("a\x1b[31mb\nc\x7f \xc2\x9b \xc3\xa9");
  EXPECT_EQ(lines_of(text)[0], "a?[31mb?c? ?? \xc3\xa9");
}

TEST(ReportText, ACutDoesNotSplitACharacter) {
  ReportText text;
  std::string name;
  for (int i = 0; i < 200; ++i) name += "\xc3\xa9";
  text.line("%s", name.c_str());
  text.line("x%s", name.c_str());
  for (const std::string& line : lines_of(text)) {
    ASSERT_TRUE(line.ends_with("\xc3\xa9..."));
    EXPECT_LT(line.size(), ReportText::kColumns);
  }
}

}  // namespace
}  // namespace tensorscope::oom
