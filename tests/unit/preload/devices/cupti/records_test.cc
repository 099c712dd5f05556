// SPDX-License-Identifier: Apache-2.0
// Records as CUPTI 12.4 and 13.0 write them, of different sizes one after another in a buffer.
#include "devices/cupti/records.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "devices/cupti/launch_counts.h"
#include "devices/cupti/launch_sites.h"
#include "devices/cupti/memory_activity.h"
#include "support/coverage.h"

namespace tensorscope::cupti {
namespace {

struct Sizes {  // of the records of a version
  size_t memory, kernel, memcpy, peer, memset;
};
constexpr Sizes kCuda12 = {120, 208, 88, 96, 88}, kCuda13 = {128, 216, 96, 96, 88};
Sizes g_sizes;
size_t g_dropped = 0;

size_t size_of(uint32_t kind) {
  switch (kind) {
    case kMemory:
      return g_sizes.memory;
    case kKernel:
    case kConcurrentKernel:
      return g_sizes.kernel;
    case kMemcpy:
      return g_sizes.memcpy;
    case kPeerMemcpy:
      return g_sizes.peer;
    case kMemset:
      return g_sizes.memset;
    default:
      return 64;  // of a kind that nobody asked for
  }
}

Result next_record(uint8_t* buffer, size_t valid_size, const uint8_t** record) {
  const uint8_t* next = buffer;
  if (*record != nullptr) {
    uint32_t kind = 0;
    memcpy(&kind, *record, sizeof kind);
    next = *record + size_of(kind);
  }
  if (next >= buffer + valid_size) return 12;
  *record = next;
  return 0;
}

Result dropped_records(void*, uint32_t, size_t* dropped) {
  *dropped = g_dropped;
  g_dropped = 0;
  return 0;
}

class RecordsTest : public ::testing::TestWithParam<Sizes> {
 protected:
  void SetUp() override {
    g_sizes = GetParam();
    Functions functions{};
    functions.ActivityGetNextRecord = next_record;
    functions.ActivityGetNumDroppedRecords = dropped_records;
    set_record_functions(functions);
    ASSERT_TRUE(g_memory.start() && g_launches.start() && g_launch_sites.start());
    size_t most = 1;
    on_buffer_request(&buffer_, &room_, &most);
    ASSERT_NE(buffer_, nullptr);
    EXPECT_EQ(most, 0u);
    EXPECT_EQ(uintptr_t(buffer_) % 8, 0u);
  }
  void TearDown() override {
    g_memory.forget_in_child();
    g_launches.forget_in_child();
  }

  uint8_t* add(uint32_t kind) {
    uint8_t* record = buffer_ + used_;
    memset(record, 0, size_of(kind));
    memcpy(record, &kind, sizeof kind);
    used_ += size_of(kind);
    return record;
  }
  template <typename T>
  static void set(uint8_t* record, size_t offset, T value) {
    memcpy(record + offset, &value, sizeof value);
  }
  void complete() { on_buffer_complete(nullptr, 0, buffer_, room_, used_); }

  uint8_t* buffer_ = nullptr;
  size_t room_ = 0, used_ = 0;
};

TEST_P(RecordsTest, AreReadOneAfterAnother) {
  g_launch_sites.note(11, 3);
  g_launch_sites.note(12, 4);
  g_launch_sites.note(13, 5);
  uint8_t* memory = add(kMemory);
  set(memory, 4, uint32_t{1});
  set(memory, 8, uint32_t{3});
  set(memory, 12, uint32_t{11});
  set(memory, 16, uint64_t{0x7f0000});
  set(memory, 24, uint64_t{4096});
  set(memory, 32, uint64_t{99});
  set(memory, 48, uint32_t{4242});
  set(memory, 52, uint32_t{1});
  set(memory, 56, uint32_t{2});
  set(memory, 60, uint32_t{7});
  set(memory, 72, uint32_t{1});
  add(17);  // of another kind
  uint8_t* kernel = add(kConcurrentKernel);
  set(kernel, 16, uint64_t{1000});
  set(kernel, 24, uint64_t{1500});
  set(kernel, 92, uint32_t{12});
  uint8_t* copy = add(kMemcpy);
  set(copy, 4, kDeviceToHost);
  set(copy, 8, uint64_t{64});
  set(copy, 16, uint64_t{10});
  set(copy, 24, uint64_t{30});
  set(copy, 44, uint32_t{12});
  uint8_t* peer = add(kPeerMemcpy);
  set(peer, 8, uint64_t{32});
  set(peer, 60, uint32_t{12});
  uint8_t* fill = add(kMemset);
  set(fill, 8, uint64_t{16});
  set(fill, 16, uint64_t{10});
  set(fill, 24, uint64_t{14});
  set(fill, 44, uint32_t{13});
  complete();

  MemoryEvent event;
  MemoryTotals totals;
  ASSERT_EQ(g_memory.copy(&event, 1, totals), 1u);
  EXPECT_EQ(event.address, 0x7f0000u);
  EXPECT_EQ(event.nbytes, 4096u);
  EXPECT_EQ(event.at_ns, 99u);
  EXPECT_EQ(event.process, 4242u);
  EXPECT_EQ(event.device, 1);
  EXPECT_EQ(event.context, 2u);
  EXPECT_EQ(event.stream, 7u);
  EXPECT_EQ(event.kind, 3);
  EXPECT_EQ(event.asynchronous, 1);
  EXPECT_EQ(event.site, 3u);

  LaunchCounts rows[2];
  ASSERT_EQ(g_launches.size(), 2u);
  ASSERT_EQ(g_launches.copy(rows, 2), 2u);
  const LaunchCounts& first = rows[0].site == 4 ? rows[0] : rows[1];
  const LaunchCounts& second = rows[0].site == 4 ? rows[1] : rows[0];
  EXPECT_EQ(first.kernels, 1u);
  EXPECT_EQ(first.kernel_ns, 500u);
  EXPECT_EQ(first.copies, 2u);
  EXPECT_EQ(first.copied_bytes, 96u);
  EXPECT_EQ(first.to_host_bytes, 64u);
  EXPECT_EQ(first.to_device_bytes, 0u);
  EXPECT_EQ(first.copy_ns, 20u);
  EXPECT_EQ(second.site, 5u);
  EXPECT_EQ(second.fills, 1u);
  EXPECT_EQ(second.filled_bytes, 16u);
  EXPECT_EQ(second.fill_ns, 4u);
}

TEST_P(RecordsTest, WorkThatHasNotEndedHasNoTime) {
  uint8_t* kernel = add(kKernel);
  set(kernel, 16, uint64_t{1000});
  complete();
  LaunchCounts row;
  ASSERT_EQ(g_launches.copy(&row, 1), 1u);
  EXPECT_EQ(row.kernels, 1u);
  EXPECT_EQ(row.kernel_ns, 0u);
  EXPECT_EQ(row.site, 0u);
}

TEST_P(RecordsTest, DroppedOnesAreCounted) {
  const uint64_t before = coverage(Subject::driver_memory).missed.load();
  g_dropped = 5;
  complete();
  EXPECT_EQ(coverage(Subject::driver_memory).missed.load(), before + 5);
}

TEST_P(RecordsTest, BuffersAreAsManyAsThereAreAndComeBack) {
  std::vector<uint8_t*> lent;
  for (;;) {
    uint8_t* buffer = nullptr;
    size_t size = 0, most = 0;
    on_buffer_request(&buffer, &size, &most);
    if (buffer == nullptr) break;
    EXPECT_EQ(size, kBufferBytes);
    lent.push_back(buffer);
    ASSERT_LE(lent.size(), kBuffers);
  }
  EXPECT_EQ(lent.size() + 1, kBuffers);  // one is the test's own
  for (uint8_t* buffer : lent) on_buffer_complete(nullptr, 0, buffer, kBufferBytes, 0);
  complete();
  uint8_t* again = nullptr;
  size_t size = 0, most = 0;
  on_buffer_request(&again, &size, &most);
  EXPECT_NE(again, nullptr);
  on_buffer_complete(nullptr, 0, again, size, 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, RecordsTest, ::testing::Values(kCuda12, kCuda13),
                         [](const auto& info) { return info.index == 0 ? "Cuda12" : "Cuda13"; });

}  // namespace
}  // namespace tensorscope::cupti
