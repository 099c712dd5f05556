// SPDX-License-Identifier: Apache-2.0
// The oldest dumps of a folder make room for a new one.
#include "dump/disk_limit.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tensorscope/dump_format.h"

namespace tensorscope::dump {
namespace {

constexpr uint64_t kKiB = 1024;

class DiskLimit : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tensorscope-disk-limit-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // `age`: the larger the older.
  void file(const std::string& name, size_t kibibytes, int age, bool dump = true, long nanoseconds = 0) {
    const std::string path = folder_ + "/" + name;
    std::string content(kibibytes * kKiB, 'x');
    if (dump) content.replace(0, sizeof(format::kMagic), format::kMagic, sizeof(format::kMagic));
    std::ofstream(path, std::ios::binary) << content;
    const timespec times[2] = {{1'000'000'000 - age, nanoseconds}, {1'000'000'000 - age, nanoseconds}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.insert(entry.path().filename());
    return found;
  }

  std::string folder_;
};

TEST_F(DiskLimit, TheOldestGoFirst) {
  file("b.1.tscope", 64, 30);
  file("a.9.oom-1.tscope", 64, 20);
  file("c.2.tscope", 64, 10);
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 256 * kKiB, 64 * kKiB));
  EXPECT_EQ(names().size(), 3u);
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 256 * kKiB, 65 * kKiB));
  EXPECT_EQ(names(), (std::set<std::string>{"a.9.oom-1.tscope", "c.2.tscope"}));
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 256 * kKiB, 256 * kKiB));
  EXPECT_TRUE(names().empty());
}

TEST_F(DiskLimit, WhatIsNoDumpStays) {
  file("a.1.recording", 64, 50);
  file("a.1.values", 64, 50);
  file("somebody.tscope", 64, 50, false);
  file("a.1.tscope", 64, 40);
  std::filesystem::create_symlink("a.1.values", folder_ + "/link.tscope");
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 100 * kKiB, 90 * kKiB));
  EXPECT_EQ(names(), (std::set<std::string>{"a.1.recording", "a.1.values", "somebody.tscope", "link.tscope"}));
}

TEST_F(DiskLimit, WhatNeverFitsRemovesNothing) {
  file("a.1.tscope", 64, 40);
  EXPECT_FALSE(make_room_on_disk(folder_.c_str(), 100 * kKiB, 101 * kKiB));
  EXPECT_EQ(names().size(), 1u);
}

TEST_F(DiskLimit, WithinASecondNanosecondsSayWhichIsOlderAndThenTheName) {
  file("a.1.tscope", 64, 10, true, 2);
  file("b.1.tscope", 64, 10, true, 1);
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 128 * kKiB, 64 * kKiB));
  EXPECT_EQ(names(), (std::set<std::string>{"a.1.tscope"}));
  file("b.1.tscope", 64, 10, true, 2);
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 128 * kKiB, 64 * kKiB));
  EXPECT_EQ(names(), (std::set<std::string>{"b.1.tscope"}));
}

TEST_F(DiskLimit, OnlyWholeNamesOfFilesThatBeginAsDumpsCount) {
  file("a.1.tscope.part", 64, 50);
  file("short.tscope", 0, 50, false);
  std::ofstream(folder_ + "/short.tscope", std::ios::binary).write(format::kMagic, 2);
  std::filesystem::create_directory(folder_ + "/folder.tscope");
  ASSERT_EQ(mkfifo((folder_ + "/pipe.tscope").c_str(), 0600), 0);  // an open() of it would wait for a writer
  const std::set<std::string> before = names();
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 64 * kKiB, 64 * kKiB));
  EXPECT_EQ(names(), before);
}

TEST_F(DiskLimit, ALinkToADumpElsewhereStaysAndCountsForNothing) {
  const std::string folder = folder_;
  folder_ += "/below";
  std::filesystem::create_directory(folder_);
  file("a.1.tscope", 64, 50);
  std::filesystem::create_symlink(folder_ + "/a.1.tscope", folder + "/link.tscope");
  folder_ = folder;
  file("b.1.tscope", 64, 40);
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 128 * kKiB, 64 * kKiB));
  EXPECT_EQ(names(), (std::set<std::string>{"below", "b.1.tscope", "link.tscope"}));
}

TEST_F(DiskLimit, WhatCountsIsTheSpaceOnTheDiskAndNotTheLength) {
  file("a.1.tscope", 4, 50);
  std::filesystem::resize_file(folder_ + "/a.1.tscope", 1024 * kKiB);  // a hole
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 256 * kKiB, 64 * kKiB));
  EXPECT_EQ(names().size(), 1u);
}

TEST_F(DiskLimit, AProcessThatKeepsTheTurnIsNotWaitedForForEver) {
  file("a.1.tscope", 64, 50);
  const int holder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(holder, LOCK_EX), 0);
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 64 * kKiB, 64 * kKiB));
  EXPECT_TRUE(names().empty());
  close(holder);
}

TEST_F(DiskLimit, TheTurnIsGivenBack) {
  EXPECT_TRUE(make_room_on_disk(folder_.c_str(), 64 * kKiB, 64 * kKiB));
  const int next = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(flock(next, LOCK_EX | LOCK_NB), 0);
  close(next);
}

TEST_F(DiskLimit, AFolderThatCannotBeReadLimitsNothing) {
  EXPECT_TRUE(make_room_on_disk((folder_ + "/none").c_str(), 64 * kKiB, 64 * kKiB));
  EXPECT_FALSE(make_room_on_disk((folder_ + "/none").c_str(), 64 * kKiB, 65 * kKiB));
}

}  // namespace
}  // namespace tensorscope::dump
