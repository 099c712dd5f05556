// SPDX-License-Identifier: Apache-2.0
// New peaks, from numbers alone; and which files are deleted.
#include "collector/growth_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/fresh_in_child.h"

namespace tensorscope::collector {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr ShareOrSize kTenPercent = {.hundredths = 1000};
constexpr ShareOrSize kHundredMiB = {.bytes = 100 * kMiB};

TEST(GrowthWatch, AShareIsOfTheLastDumpAndAtLeastSixteenMiB) {
  GrowthWatch watch;
  EXPECT_FALSE(watch.look(16 * kMiB - 1, kTenPercent));
  EXPECT_TRUE(watch.look(16 * kMiB, kTenPercent));
  EXPECT_FALSE(watch.look(32 * kMiB - 1, kTenPercent));
  EXPECT_TRUE(watch.look(1000 * kMiB, kTenPercent));
  EXPECT_FALSE(watch.look(1099 * kMiB, kTenPercent));
  EXPECT_TRUE(watch.look(1100 * kMiB, kTenPercent));
}

TEST(GrowthWatch, ASizeIsBeyondTheLastDump) {
  GrowthWatch watch;
  EXPECT_FALSE(watch.look(99 * kMiB, kHundredMiB));
  EXPECT_TRUE(watch.look(130 * kMiB, kHundredMiB));
  EXPECT_FALSE(watch.look(229 * kMiB, kHundredMiB));
  EXPECT_TRUE(watch.look(230 * kMiB, kHundredMiB));
}

TEST(GrowthWatch, WhatAForkedChildHasFromItsParentIsNoGrowth) {
  GrowthWatch watch;
  watch.begin_in_child(1000 * kMiB);
  EXPECT_FALSE(watch.look(1099 * kMiB, kTenPercent));
  EXPECT_TRUE(watch.look(1100 * kMiB, kTenPercent));
}

TEST(GrowthWatch, OnlyPeaksCount) {
  GrowthWatch watch;
  EXPECT_TRUE(watch.look(500 * kMiB, kHundredMiB));
  EXPECT_FALSE(watch.look(10 * kMiB, kHundredMiB));
  EXPECT_FALSE(watch.look(590 * kMiB, kHundredMiB));
  EXPECT_TRUE(watch.look(600 * kMiB, kHundredMiB));
}

TEST(GrowthWatch, TheStepLeadsToTheMark) {
  GrowthWatch watch;
  EXPECT_EQ(watch.step(30 * kMiB, 1, kHundredMiB), 70 * kMiB);
  EXPECT_EQ(watch.step(30 * kMiB, 2, kHundredMiB), 35 * kMiB);
  EXPECT_EQ(watch.step(99 * kMiB, 4, kHundredMiB), GrowthWatch::kMinStep);
  EXPECT_EQ(watch.step(200 * kMiB, 1, kHundredMiB), 1u);
}

// However the devices share the growth, the mark is met within a least step of each.
TEST(GrowthWatch, DevicesThatGrowTogetherMeetTheMark) {
  constexpr size_t kDevices = 5;
  GrowthWatch watch;
  uint64_t live[kDevices] = {}, marks[kDevices] = {};
  bool told = false;
  uint64_t total = 0;
  for (uint64_t i = 0; !told; ++i) {
    const size_t device = i % 7 % kDevices;
    live[device] += kMiB / 4;
    total += kMiB / 4;
    ASSERT_LT(total, 106 * kMiB);
    if (live[device] <= marks[device]) continue;
    told = watch.look(total, kHundredMiB);
    for (size_t k = 0; k < kDevices; ++k) marks[k] = live[k] + watch.step(total, kDevices, kHundredMiB) - 1;
  }
  EXPECT_GE(total, 100 * kMiB);
}

class KeptFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tensorscope-kept-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(int i) const { return folder_ + "/" + std::to_string(i); }
  void write(int i, const std::string& text = "dump") const { std::ofstream(path(i)) << text; }
  void add(KeptFiles& kept, int i, size_t keep) const {
    write(i);
    kept.add(path(i).c_str(), keep);
  }
  std::string there() const {
    std::string names;
    for (int i = 0; i < 10; ++i) {
      if (access(path(i).c_str(), F_OK) == 0) names += char('0' + i);
    }
    return names;
  }
  std::string folder_;
};

TEST_F(KeptFilesTest, TheNewestStay) {
  static KeptFiles kept;  // as in the preload: what it keeps is never freed
  for (int i = 0; i < 6; ++i) add(kept, i, 3);
  EXPECT_EQ(there(), "345");
}

TEST_F(KeptFilesTest, ZeroKeepsAll) {
  static KeptFiles kept;  // as in the preload: what it keeps is never freed
  for (int i = 0; i < 6; ++i) add(kept, i, 0);
  EXPECT_EQ(there(), "012345");
}

TEST_F(KeptFilesTest, AnotherFileInItsPlaceStays) {
  static KeptFiles kept;  // as in the preload: what it keeps is never freed
  add(kept, 0, 1);
  write(9, "dump");
  rename(path(9).c_str(), path(0).c_str());
  add(kept, 1, 1);
  EXPECT_EQ(there(), "01");
}

TEST_F(KeptFilesTest, AFileThatSomebodyChangedStays) {
  static KeptFiles kept;  // as in the preload: what it keeps is never freed
  add(kept, 0, 1);
  write(0, "notes of mine");
  add(kept, 1, 1);
  EXPECT_EQ(there(), "01");
}

TEST_F(KeptFilesTest, ALinkInItsPlaceIsNotFollowedNorDeleted) {
  static KeptFiles kept;  // as in the preload: what it keeps is never freed
  add(kept, 0, 1);
  write(9);
  unlink(path(0).c_str());
  ASSERT_EQ(symlink(path(9).c_str(), path(0).c_str()), 0);
  add(kept, 1, 1);
  EXPECT_EQ(there(), "019");
}

TEST_F(KeptFilesTest, AFileThatIsGoneIsNoTrouble) {
  static KeptFiles kept;  // as in the preload: what it keeps is never freed
  add(kept, 0, 2);
  unlink(path(0).c_str());
  add(kept, 1, 2);
  add(kept, 2, 2);
  add(kept, 3, 2);
  EXPECT_EQ(there(), "23");
  kept.add(path(8).c_str(), 2);  // was never written
  EXPECT_EQ(there(), "23");
}

TEST_F(KeptFilesTest, AForkedChildDeletesNothingOfItsParent) {
  static KeptFiles kept;  // as in the preload: what it keeps is never freed
  add(kept, 0, 1);
  static KeptFiles parents;
  parents = kept;
  make_anew(kept);
  add(kept, 1, 1);
  add(kept, 2, 1);
  EXPECT_EQ(there(), "02");
}

}  // namespace
}  // namespace tensorscope::collector
