// SPDX-License-Identifier: Apache-2.0
// Covers: preload/dump/table_chunks.cc preload/dump/history_chunks.cc
#include "dump/table_chunks.h"

#include <gtest/gtest.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "dump/dump_file.h"
#include "dump/history_chunks.h"
#include "dump_generated.h"
#include "support/fake_capture.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::dump {
namespace {

class TableChunksTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tensorscope-table-chunks-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    ASSERT_TRUE(file_.open(folder_.c_str(), "a.tscope"));
    stacks::g_native = {{0, 0}};
    stacks::g_python = {{0, 0, 0, 0, false}};
    stacks::g_codes.clear();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The payloads of all chunks of one type, in order.
  std::vector<std::string> payloads(uint32_t type) {
    if (content_.empty()) {
      EXPECT_TRUE(file_.give_name("a.tscope"));
      std::ifstream in(folder_ + "/a.tscope", std::ios::binary);
      content_.assign(std::istreambuf_iterator<char>(in), {});
    }
    std::vector<std::string> found;
    for (size_t at = sizeof(format::FileHeader); at < content_.size();) {
      format::ChunkHeader header;
      memcpy(&header, content_.data() + at, sizeof(header));
      if (header.type == type) found.push_back(content_.substr(at + sizeof(header), header.length));
      at += sizeof(header) + header.length + format::padding(header.length);
    }
    return found;
  }
  template <typename Table>
  static const Table* root(const std::string& payload) {
    return flatbuffers::GetSizePrefixedRoot<Table>(payload.data());
  }

  std::string folder_;
  std::string content_;
  DumpFile file_;
};

live::SiteCounters site(StackId native, StackId python, uint64_t live) {
  live::SiteCounters counters = {};
  counters.native = native;
  counters.python = python;
  counters.tensors_live = live;
  return counters;
}

TEST_F(TableChunksTest, SmallTriesAreWrittenWhole) {
  stacks::g_native = {{0, 0}, {0x100, 0}, {0x200, 1}, {0x300, 1}};
  const std::vector<live::SiteCounters> sites = {site(0, 0, 0), site(2, 0, 0)};
  live::SnapshotView view;
  view.sites = {sites.data(), sites.size()};
  ASSERT_TRUE(write_stacks(view, file_));
  const std::string native = payloads(format::kNativeFrames).at(0);
  ASSERT_EQ(root<format::NativeFrames>(native)->values()->size(), 4u);
  EXPECT_EQ(root<format::NativeFrames>(native)->values()->Get(3)->address(), 0x300u);
  EXPECT_EQ(root<format::Sites>(payloads(format::kSites).at(0))->values()->Get(1)->native(), 2u);
}

TEST_F(TableChunksTest, OfALargeTrieOnlyWhatTheLivingNeedIsWritten) {
  stacks::g_native = {{0, 0}, {0x100, 0}, {0x200, 1}, {0x300, 1}, {0x400, 3}, {0x500, 2}};
  stacks::g_python = {{0, 0, 0, 0, false}, {0xAA, 0, 7, 11, true}, {0xBB, 1, 8, 12, false}, {0xCC, 1, 9, 13, true}};
  const std::vector<live::SiteCounters> sites = {site(0, 0, 0), site(4, 3, 1), site(5, 2, 0)};
  live::SnapshotView view;
  view.sites = {sites.data(), sites.size()};
  ASSERT_TRUE(write_stacks(view, file_, 3));

  const std::string site_chunk = payloads(format::kSites).at(0);
  const auto* written = root<format::Sites>(site_chunk)->values();
  ASSERT_EQ(written->size(), 3u);
  EXPECT_EQ(written->Get(2)->native(), 0u) << "nothing alive: no stack";
  EXPECT_EQ(written->Get(2)->python(), 0u);

  const std::string native_chunk = payloads(format::kNativeFrames).at(0);
  const auto* native = root<format::NativeFrames>(native_chunk)->values();
  ASSERT_EQ(native->size(), 4u);
  std::vector<uint64_t> addresses;
  for (uint32_t id = written->Get(1)->native(); id != 0; id = native->Get(id)->parent()) {
    ASSERT_LT(native->Get(id)->parent(), id);
    addresses.push_back(native->Get(id)->address());
  }
  EXPECT_EQ(addresses, (std::vector<uint64_t>{0x400, 0x300, 0x100}));

  const std::string python_chunk = payloads(format::kPythonFrames).at(0);
  const auto* python = root<format::PythonFrames>(python_chunk)->values();
  ASSERT_EQ(python->size(), 3u);
  const auto* leaf = python->Get(written->Get(1)->python());
  EXPECT_EQ(leaf->line(), 13);
  EXPECT_EQ(leaf->code(), 9u);
  EXPECT_EQ(leaf->entry(), 1);
  EXPECT_EQ(python->Get(leaf->parent())->line(), 11);
}

TEST_F(TableChunksTest, LargeTablesAreSplit) {
  std::vector<live::AllocationEntry> allocations(kTableRows + 5);
  for (size_t i = 0; i < allocations.size(); ++i) {
    allocations[i] = {};
    allocations[i].serial = i + 1;
    allocations[i].nbytes = i * 64;
  }
  live::SnapshotView view;
  view.allocations = {allocations.data(), allocations.size()};
  view.fork_serial = 3;
  ASSERT_TRUE(write_allocations(view, file_));
  const std::vector<std::string> chunks = payloads(format::kAllocations);
  ASSERT_EQ(chunks.size(), 2u);
  const auto* first = root<format::AllocationRows>(chunks[0])->values();
  const auto* second = root<format::AllocationRows>(chunks[1])->values();
  EXPECT_EQ(first->size(), kTableRows);
  ASSERT_EQ(second->size(), 5u);
  EXPECT_EQ(second->Get(4)->serial(), allocations.size());
  EXPECT_EQ(first->Get(2)->inherited(), 1);
  EXPECT_EQ(first->Get(3)->inherited(), 0);
}

TEST_F(TableChunksTest, FramesOfASplitTrieKeepTheirIds) {
  for (StackId id = 1; id < kTableRows + 10; ++id) stacks::g_native.push_back({id * 16, id - 1});
  live::SnapshotView view;
  ASSERT_TRUE(write_stacks(view, file_));
  const std::vector<std::string> chunks = payloads(format::kNativeFrames);
  ASSERT_EQ(chunks.size(), 2u);
  const uint32_t first = root<format::NativeFrames>(chunks[1])->first();
  EXPECT_EQ(first, kTableRows);
  EXPECT_EQ(root<format::NativeFrames>(chunks[1])->values()->Get(1)->address(), uint64_t{first + 1} * 16);
}

TEST_F(TableChunksTest, ThreadsAreAliveOrNot) {
  live::ThreadEntry threads[3] = {{0, ""}, {uint32_t(getpid()), "main"}, {4'000'000, "0123456789abcde"}};
  live::SnapshotView view;
  view.threads = {threads, 3};
  StringTable strings;
  ASSERT_TRUE(write_threads(view, strings, file_));
  const std::string chunk = payloads(format::kThreads).at(0);
  const auto* rows = root<format::Threads>(chunk)->values();
  EXPECT_EQ(rows->Get(0)->alive(), 0);
  EXPECT_EQ(rows->Get(1)->alive(), 1);
  EXPECT_EQ(rows->Get(2)->alive(), 0);
  EXPECT_EQ(strings.values()[rows->Get(2)->name()], "0123456789abcde");
}

TEST_F(TableChunksTest, CodesShareTheirStrings) {
  stacks::g_codes = {{"", "", 0}, {"train.py", "step", 4}, {"train.py", "main", 9}};
  StringTable strings;
  ASSERT_TRUE(write_codes(strings, file_));
  const std::string chunk = payloads(format::kCodes).at(0);
  const auto* rows = root<format::Codes>(chunk)->values();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ(rows->Get(1)->file(), rows->Get(2)->file());
  EXPECT_EQ(strings.values()[rows->Get(2)->name()], "main");
  EXPECT_EQ(rows->Get(2)->first_line(), 9);
}

TEST_F(TableChunksTest, OfThePeakTheLargestSitesAreWrittenAndTheRestIsSummedUp) {
  std::vector<live::SiteCounters> sites = {site(0, 0, 0), site(1, 0, 0), site(1, 0, 0), site(1, 0, 0), site(1, 0, 0)};
  for (size_t i = 1; i < 5; ++i) sites[i].bytes_kept = i * 100, sites[i].allocations_kept = i;
  const live::DeviceTotals cpu = {};
  live::SnapshotView view;
  view.sites = {sites.data(), sites.size()};
  view.devices = {&cpu, 1};
  ASSERT_TRUE(write_peak(view, file_)) << "no peak: no chunk";
  view.peak.ns = 7;
  view.peak.bytes = view.peak.devices[0] = 1000;
  ASSERT_TRUE(write_peak(view, file_, 2));
  const std::vector<std::string> chunks = payloads(format::kPeak);
  ASSERT_EQ(chunks.size(), 1u);
  const auto* peak = root<format::Peak>(chunks[0]);
  EXPECT_EQ(peak->bytes(), 1000u);
  EXPECT_EQ(peak->devices()->Get(0)->bytes(), 1000u);
  ASSERT_EQ(peak->sites()->size(), 2u);
  EXPECT_EQ(peak->sites()->Get(0)->site(), 4u);
  EXPECT_EQ(peak->sites()->Get(0)->bytes(), 400u);
  EXPECT_EQ(peak->sites()->Get(1)->allocations(), 3u);
  EXPECT_EQ(peak->other_sites(), 2u);
  EXPECT_EQ(peak->other_bytes(), 300u);
  EXPECT_EQ(peak->other_allocations(), 3u);
}

// Of a large trie, too: what was alive at the peak has its stacks, though it is freed.
TEST_F(TableChunksTest, StacksOfThePeakAreWritten) {
  stacks::g_native = {{0, 0}, {0x100, 0}, {0x200, 0}};
  std::vector<live::SiteCounters> sites = {site(0, 0, 0), site(1, 0, 0), site(2, 0, 0)};
  sites[2].bytes_kept = 100;
  live::SnapshotView view;
  view.sites = {sites.data(), sites.size()};
  ASSERT_TRUE(write_stacks(view, file_, 2));
  const std::string native = payloads(format::kNativeFrames).at(0);
  ASSERT_EQ(root<format::NativeFrames>(native)->values()->size(), 2u);
  EXPECT_EQ(root<format::NativeFrames>(native)->values()->Get(1)->address(), 0x200u);
}

}  // namespace
}  // namespace tensorscope::dump
