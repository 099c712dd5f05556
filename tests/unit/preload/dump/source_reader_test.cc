// SPDX-License-Identifier: Apache-2.0
// Covers: preload/support/timed_thread.cc
#include "dump/source/source_reader.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <string.h>

#include <atomic>
#include <string>
#include <vector>

#include "support/fresh_in_child.h"
#include "support/locks/lock_word.h"

// A file system of the test's own stands before the library's: "/hangs" is not read until it is released.
namespace tensorscope::dump {
namespace {
std::atomic<bool> g_hangs{false}, g_hanging{false};
std::atomic<unsigned> g_read{0};
}  // namespace
void read_source_file(SourceFile& file, SourceLimits& limits) {
  if (strcmp(file.path, "/hangs") == 0) {
    g_hanging = true;
    while (g_hangs) sched_yield();
    g_hanging = false;
  }
  file.state = strcmp(file.path, "/missing") == 0 ? SourceState::unreadable : SourceState::read;
  file.size = strlen(file.path);
  file.hash = limits.newest_unix_ns;
  for (uint32_t i = 0; i < file.count; ++i) {
    file.lines[i].text = limits.texts;
    file.lines[i].length = 4;
    limits.texts = static_cast<char*>(memcpy(limits.texts, "text", 4)) + 4;
  }
  ++g_read;
}

namespace {

constexpr unsigned kEndless = 600'000;  // a hang, not a speed limit

WantedLines wanted(const std::vector<std::string>& paths) {
  WantedLines out;
  for (const std::string& path : paths) out.files.push_back({path, {1, 2}});
  return out;
}

class SourceReaderTest : public testing::Test {
 protected:
  void TearDown() override {
    g_hangs = false;
    while (!reader_is_free()) sched_yield();
  }
  static bool reader_is_free() {
    SourceReader reader;
    reader.start(wanted({"/a"}), "", 0, kEndless);
    reader.wait();
    return *reader.why() == 0;
  }
};

TEST_F(SourceReaderTest, ReadsAllInOrder) {
  SourceReader reader;
  reader.start(wanted({"train.py", "/lib/model.py", "/missing"}), "/work", 77, kEndless);
  reader.wait();
  ASSERT_EQ(reader.files().size(), 3u);
  EXPECT_STREQ(reader.files()[0].path, "/work/train.py");
  EXPECT_STREQ(reader.files()[1].path, "/lib/model.py");
  EXPECT_EQ(reader.files()[2].state, SourceState::unreadable);
  EXPECT_EQ(reader.files()[0].hash, 77u);
  EXPECT_EQ(reader.files()[1].lines[1].number, 2u);
  EXPECT_EQ(std::string(reader.files()[1].lines[1].text, reader.files()[1].lines[1].length), "text");
  EXPECT_STREQ(reader.why(), "");
}

TEST_F(SourceReaderTest, NothingIsWanted) {
  SourceReader reader;
  reader.start({}, "/work", 0, kEndless);
  reader.wait();
  EXPECT_TRUE(reader.files().empty());
  EXPECT_STREQ(reader.why(), "");
}

TEST_F(SourceReaderTest, AFileSystemThatHangsIsGivenUp) {
  g_hangs = true;
  {
    SourceReader reader;
    reader.start(wanted({"/a", "/b", "/hangs", "/c"}), "", 0, kEndless);
    while (!g_hanging) sched_yield();
  }
  SourceReader late;
  late.start(wanted({"/a"}), "", 0, 1);
  late.wait();
  EXPECT_TRUE(late.files().empty());
  EXPECT_STREQ(late.why(), "a source file of an earlier dump is still being read");
}

TEST_F(SourceReaderTest, WhatWasReadInTimeIsKept) {
  g_hangs = true;
  SourceReader reader;
  reader.start(wanted({"/a", "/hangs", "/c"}), "", 0, 20);
  while (!g_hanging) sched_yield();
  reader.wait();
  ASSERT_EQ(reader.files().size(), 1u);
  EXPECT_STREQ(reader.files()[0].path, "/a");
  EXPECT_STREQ(reader.why(), "the source files could not be read in time");
}

TEST_F(SourceReaderTest, AnObjectThatGoesWaitsForNothing) {
  g_hangs = true;
  const unsigned before = g_read;
  {
    SourceReader reader;
    reader.start(wanted({"/hangs", "/c"}), "", 0, kEndless);
    while (!g_hanging) sched_yield();
  }
  EXPECT_EQ(g_read, before);
  g_hangs = false;
  while (!reader_is_free()) sched_yield();
  EXPECT_EQ(g_read, before + 2) << "what nobody waits for is not read on";
}

TEST_F(SourceReaderTest, AForkedChildMayReadWhatItsParentHangsOn) {
  g_hangs = true;
  SourceReader reader;
  reader.start(wanted({"/hangs"}), "", 0, 1);
  while (!g_hanging) sched_yield();
  forget_locks_in_child();  // as the child does, which has no such thread
  FreshInChild::make_all_anew();
  EXPECT_TRUE(reader_is_free());
}

}  // namespace
}  // namespace tensorscope::dump
