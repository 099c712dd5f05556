// SPDX-License-Identifier: Apache-2.0
#include "dump/source/wanted_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/fake_capture.h"

namespace tensorscope::dump {
namespace {

using Lines = std::vector<uint32_t>;

class WantedLinesTest : public testing::Test {
 protected:
  void SetUp() override {
    stacks::g_python = {{0, 0, 0, 0, false}};
    stacks::g_codes = {{"", "", 0}};
    sites_ = {{}};
  }
  // A frame inside of `parent`.
  StackId frame(const char* file, int32_t line, StackId parent = 0) {
    return stacks::add_python_frame(file, line, parent);
  }
  SiteId site(StackId python, uint64_t bytes) {
    live::SiteCounters counters = {};
    counters.python = python;
    counters.allocations_live = bytes != 0;
    counters.bytes_live = bytes;
    sites_.push_back(counters);
    return SiteId(sites_.size() - 1);
  }
  WantedLines wanted(const std::vector<SiteId>& more = {}, const WantedLimits& limits = {}) {
    view_.sites = {sites_.data(), sites_.size()};
    return wanted_lines(view_, more, limits);
  }
  // "train.py 3,9; model.py 1"
  static std::string text(const WantedLines& wanted) {
    std::string out;
    for (const WantedLines::File& file : wanted.files) {
      out += (out.empty() ? "" : "; ") + file.path;
      for (size_t i = 0; i < file.lines.size(); ++i) out += (i == 0 ? " " : ",") + std::to_string(file.lines[i]);
    }
    return out;
  }
  std::vector<live::SiteCounters> sites_;
  live::SnapshotView view_;
};

constexpr char kTorch[] = "/v/site-packages/torch/f.py";
constexpr char kLibrary[] = "/v/site-packages/lib/g.py";

TEST_F(WantedLinesTest, TheProgramsFramesComeFirstAndTheLargestSitesFirst) {
  const StackId main = frame("train.py", 9);
  const StackId model = frame("model.py", 5, main);
  site(frame(kTorch, 7, model), 10);
  site(frame(kTorch, 8, frame("data.py", 2, main)), 500);
  site(frame("train.py", 3), 20);
  EXPECT_EQ(text(wanted()), "train.py 3,9; data.py 2; model.py 5; " + std::string(kTorch) + " 7,8");
  EXPECT_TRUE(wanted().all);
}

TEST_F(WantedLinesTest, SitesWithNothingAliveNeedNoneUnlessTheyAreNamed) {
  const SiteId dead = site(frame("train.py", 3), 0);
  EXPECT_EQ(text(wanted()), "");
  EXPECT_EQ(text(wanted({dead, 99})), "train.py 3");
  live::RuntimeEntry block = {};
  block.site = dead;
  view_.runtime_blocks = {&block, 1};
  EXPECT_EQ(text(wanted()), "train.py 3");
  view_.runtime_blocks = {};
  live::NodeEntry node = {};
  node.site = dead;
  view_.nodes = {&node, 1};
  EXPECT_EQ(text(wanted()), "train.py 3");
  node.removed = 1;
  EXPECT_EQ(text(wanted()), "");
}

// The frame that a report shows is wanted before all other frames outside the program.
TEST_F(WantedLinesTest, AStackWithoutTheProgramHasItsLibrarysFrameFirst) {
  const StackId library = frame(kLibrary, 4, frame("/usr/lib/python3.11/runpy.py", 2));
  site(frame(kTorch, 7, library), 10);
  EXPECT_EQ(text(wanted()), std::string(kLibrary) + " 4; " + kTorch + " 7; /usr/lib/python3.11/runpy.py 2");
  SetUp();
  site(frame(kTorch, 7, frame(kTorch, 6)), 10);
  EXPECT_EQ(text(wanted()), std::string(kTorch) + " 6,7");
}

TEST_F(WantedLinesTest, FramesWithoutAFileOrLine) {
  site(frame("train.py", 0, frame("<stdin>", 3, frame("", 4, frame(nullptr, 5)))), 10);
  EXPECT_EQ(text(wanted()), "");
  EXPECT_TRUE(wanted().all);
}

TEST_F(WantedLinesTest, LimitsAreToldOf) {
  for (int32_t i = 1; i <= 5; ++i) site(frame("train.py", i), 100 - uint64_t(i));
  site(frame("model.py", 1), 1);
  EXPECT_EQ(text(wanted({}, {1, 100})), "train.py 1,2,3,4,5");
  EXPECT_FALSE(wanted({}, {1, 100}).all);
  EXPECT_EQ(text(wanted({}, {9, 2})), "train.py 1,2; model.py");
  EXPECT_FALSE(wanted({}, {9, 2}).all);
  EXPECT_TRUE(wanted({}, {2, 6}).all);
}

// Each frame is walked once, however many sites lie inside of it.
TEST_F(WantedLinesTest, ManySitesOnOneDeepStack) {
  StackId deep = 0;
  for (int32_t i = 1; i <= 2000; ++i) deep = frame("train.py", i, deep);
  for (int i = 0; i < 20'000; ++i) site(frame(kTorch, i + 1, deep), 1);
  const WantedLines found = wanted({}, {256, 100'000});
  ASSERT_EQ(found.files.size(), 2u);
  EXPECT_EQ(found.files[0].lines.size(), 2000u);
  EXPECT_EQ(found.files[1].lines.size(), 20'000u);
}

}  // namespace
}  // namespace tensorscope::dump
