// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/export/profiles/{memory_viz_devices,memory_viz}.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "dump/reader.h"
#include "export/export.h"
#include "pickle_reader.h"
#include "support/dump_builder.h"

namespace tensorscope::exports {
namespace {

using nlohmann::json;
using testing::AllocationSpec;
using testing::DumpBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TensorSpec;

constexpr int8_t kCuda = 1;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr auto kAllocated = uint8_t(format::BlockState::allocated),
               kPending = uint8_t(format::BlockState::pending_free), kFree = uint8_t(format::BlockState::free);

class MemoryVizTest : public ::testing::Test {
 protected:
  MemoryVizTest() {
    site_ = builder_.site(0, builder_.python({{"/home/u/train.py", "main", 3, true}, {"/home/u/net.py", "run", 9}}));
  }

  uint64_t block(uint64_t pointer, uint64_t nbytes, uint64_t created_ns, int8_t cuda_device = -1) {
    AllocationSpec spec;
    spec.pointer = pointer;
    spec.nbytes = nbytes;
    spec.created_ns = created_ns;
    spec.site = site_;
    if (cuda_device >= 0) {
      spec.kind = format::AllocationKind::caching;
      spec.device_type = kCuda;
      spec.device_index = cuda_device;
    }
    return builder_.allocation(spec);
  }

  struct Part {
    uint64_t size;
    uint8_t state;
    uint64_t requested = 0;
  };
  // Of cuda:0, as torch's snapshot would tell it.
  analyzer::Segment& segment(uint64_t address, const std::vector<Part>& parts) {
    if (devices_.empty()) {
      devices_.emplace_back().device = {kCuda, 0};
      devices_[0].segments_from = uint8_t(format::SegmentSource::snapshot);
    }
    analyzer::Segment row;
    row.address = address;
    row.first_block = uint32_t(devices_[0].blocks.size());
    row.block_count = uint32_t(parts.size());
    for (const Part& part : parts) {
      devices_[0].blocks.push_back({address + row.size, part.size, part.requested, part.state});
      row.size += part.size;
    }
    devices_[0].segments.push_back(row);
    return devices_[0].segments.back();
  }

  void runtime(analyzer::Device device, format::RuntimeKind kind, uint64_t pointer, uint64_t nbytes, bool by_torch) {
    runtime_.push_back(
        {100 + runtime_.size(), pointer, nbytes, 5'000'000'000, site_, 0, uint8_t(kind), by_torch, device, {}});
  }

  std::string bytes() {
    const std::string file = builder_.bytes();
    analyzer::Dump dump = analyzer::read_dump_bytes(file.data(), file.size(), "x.tscope");
    dump.device_memory = devices_;
    dump.runtime_blocks = runtime_;
    dump.failure = failure_;
    analyzer::Symbols symbols(
        dump, {.sysroot = {}, .source_folders = {}, .debug_dirs = {}, .use_cache = false, .native = false});
    std::ostringstream out;
    export_memory_viz(dump, symbols, out, options_);
    return out.str();
  }
  json exported() { return testing::PickleReader(bytes()).read(); }

  static std::vector<std::string> actions(const json& trace) {
    std::vector<std::string> result;
    for (const json& event : trace) result.push_back(event["action"]);
    return result;
  }

  DumpBuilder builder_;
  uint32_t site_ = 0;
  std::vector<analyzer::DeviceMemory> devices_;
  std::vector<analyzer::RuntimeBlock> runtime_;
  std::optional<analyzer::Failure> failure_;
  ExportOptions options_;
};

TEST_F(MemoryVizTest, AnEmptyDump) {
  const json snapshot = exported();
  EXPECT_THAT(snapshot["segments"], IsEmpty());
  EXPECT_EQ(snapshot["device_traces"], json::parse("[[]]"));
  EXPECT_EQ(snapshot["tensorscope"]["devices"], json::parse(R"(["cpu"])"));
}

TEST_F(MemoryVizTest, EveryBlockOfTheCpuIsASegment) {
  block(0x20000, 300, 3'000'000'000);
  block(0x10000, 4096, 2'000'000'000);
  block(0x30000, 0, 2'000'000'000);
  const json snapshot = exported();
  ASSERT_EQ(snapshot["segments"].size(), 2u);
  const json& segment = snapshot["segments"][0];
  EXPECT_EQ(segment["device"], 0);
  EXPECT_EQ(segment["address"], 0x20000);
  EXPECT_EQ(segment["total_size"], 300);
  EXPECT_EQ(segment["allocated_size"], 300);
  EXPECT_EQ(segment["segment_pool_id"], json::parse("[0,0]"));
  EXPECT_EQ(segment["blocks"], json::parse(R"([{"address":131072,"size":300,"requested_size":300,
      "state":"active_allocated","frames":[{"name":"run","filename":"/home/u/net.py","line":9},
      {"name":"main","filename":"/home/u/train.py","line":3}]}])"));
}

TEST_F(MemoryVizTest, EventsComeInTheOrderOfTime) {
  block(0x20000, 300, 3'000'000'000);
  block(0x10000, 4096, 2'000'000'000);
  const json trace = exported()["device_traces"][0];
  EXPECT_THAT(actions(trace), ElementsAre("alloc", "alloc", "snapshot"));
  EXPECT_EQ(trace[0]["addr"], 0x10000);
  EXPECT_EQ(trace[0]["size"], 4096);
  EXPECT_EQ(trace[0]["time_us"], 1'790'000'001'000'000);  // a second after the program's start
  EXPECT_EQ(trace[2]["time_us"], 1'790'000'060'000'000);
  EXPECT_FALSE(trace[0].contains("category"));
}

TEST_F(MemoryVizTest, SegmentsAsTorchToldThem) {
  block(0x7f0000000000, 2 * kMiB, 2'000'000'000, 0);
  segment(0x7f0000000000, {{2 * kMiB, kAllocated, 2 * kMiB - 100}, {kMiB, kPending, kMiB}, {7 * kMiB, kFree}}).stream =
      77;
  devices_[0].segments[0].pool = 3;
  devices_[0].segments[0].expandable = true;
  const json snapshot = exported();
  ASSERT_EQ(snapshot["segments"].size(), 1u);
  const json& segment = snapshot["segments"][0];
  EXPECT_EQ(segment["total_size"], 10 * kMiB);
  EXPECT_EQ(segment["allocated_size"], 2 * kMiB);
  EXPECT_EQ(segment["active_size"], 3 * kMiB);
  EXPECT_EQ(segment["requested_size"], 3 * kMiB - 100);
  EXPECT_EQ(segment["stream"], 77);
  EXPECT_EQ(segment["segment_type"], "large");
  EXPECT_EQ(segment["segment_pool_id"], json::parse("[0,3]"));
  EXPECT_EQ(segment["is_expandable"], true);
  std::vector<std::string> states;
  for (const json& part : segment["blocks"]) states.push_back(part["state"]);
  EXPECT_THAT(states, ElementsAre("active_allocated", "active_pending_free", "inactive"));
  EXPECT_EQ(segment["blocks"][0]["frames"].size(), 2u);
  EXPECT_THAT(segment["blocks"][1]["frames"], IsEmpty());
  EXPECT_EQ(segment["blocks"][2]["address"], 0x7f0000000000 + 3 * kMiB);
  const json& trace = snapshot["device_traces"][0];
  EXPECT_THAT(actions(trace), ElementsAre("alloc", "snapshot"));
  EXPECT_EQ(trace[0]["size"], 2 * kMiB - 100);
  EXPECT_EQ(trace[0]["pool_id"], json::parse("[0,3]"));
}

// The viewer counts a block's address from those before it.
TEST_F(MemoryVizTest, HolesAreFilled) {
  segment(0x1000, {{0x100, kAllocated}, {0x100, kAllocated}}).size = 0x400;
  devices_[0].blocks[1].address = 0x1200;
  uint64_t next = 0x1000;
  const json snapshot = exported();
  for (const json& part : snapshot["segments"][0]["blocks"]) {
    EXPECT_EQ(part["address"], next);
    next += part["size"].get<uint64_t>();
  }
  EXPECT_EQ(next, 0x1400u);
}

TEST_F(MemoryVizTest, ABlockThatWasFreedMeanwhileIsNotShown) {
  block(0x5000, 512, 2'000'000'000, 0);
  block(0x1000, 512, 2'000'000'000, 0);
  segment(0x1000, {{512, kFree}, {512, kAllocated}});
  const json snapshot = exported();
  EXPECT_EQ(snapshot["segments"].size(), 1u);
  EXPECT_THAT(actions(snapshot["device_traces"][0]), ElementsAre("snapshot"));
}

TEST_F(MemoryVizTest, BlocksInSegmentsThatTorchDidNotTell) {
  block(0x1000, 512, 2'000'000'000, 0);
  block(0x5000, 512, 2'000'000'000, 0);
  segment(0x1000, {{512, kAllocated}});
  devices_[0].segments_from = uint8_t(format::SegmentSource::runtime_calls);
  const json segments = exported()["segments"];
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0]["address"], 0x1000);
  EXPECT_EQ(segments[1]["address"], 0x5000);
}

TEST_F(MemoryVizTest, BlocksOfADeviceWithoutSegments) {
  block(0x5000, 512, 2'000'000'000, 1);
  const json snapshot = exported();
  ASSERT_EQ(snapshot["segments"].size(), 1u);
  EXPECT_EQ(snapshot["segments"][0]["device"], 1);
  EXPECT_EQ(snapshot["tensorscope"]["devices"], json::parse(R"(["cuda:0","cuda:1","cpu"])"));
  EXPECT_EQ(snapshot["device_traces"].size(), 3u);
}

TEST_F(MemoryVizTest, MemoryThatTorchsAllocatorsDoNotKnow) {
  segment(0x1000, {{512, kFree}});
  runtime({kCuda, 0}, format::RuntimeKind::device, 0x1000, 512, true);
  runtime({kCuda, 0}, format::RuntimeKind::device, 0x9000, 4096, false);
  runtime({0, -1}, format::RuntimeKind::pinned, 0x5000, 100, true);
  const json snapshot = exported();
  EXPECT_EQ(snapshot["tensorscope"]["devices"],
            json::parse(R"(["cuda:0","cpu","cuda:0, not by torch","page-locked host memory"])"));
  ASSERT_EQ(snapshot["segments"].size(), 3u);
  EXPECT_EQ(snapshot["segments"][1]["device"], 2);
  EXPECT_EQ(snapshot["segments"][1]["total_size"], 4096);
  EXPECT_EQ(snapshot["segments"][2]["device"], 3);
  EXPECT_EQ(snapshot["segments"][2]["blocks"][0]["frames"].size(), 2u);
}

TEST_F(MemoryVizTest, ASegmentIsTakenBeforeItsFirstBlock) {
  block(0x9000, 512, 2'000'000'000, 0);
  block(0x1000, 512, 2'000'000'000, 0);
  block(0x1200, 512, 6'000'000'000, 0);
  segment(0x1000, {{512, kAllocated}, {512, kAllocated}, {1024, kFree}});
  segment(0x9000, {{512, kAllocated}});
  runtime({kCuda, 0}, format::RuntimeKind::device, 0x1000, 2048, true);
  const json trace = exported()["device_traces"][0];
  ASSERT_THAT(actions(trace), ElementsAre("alloc", "segment_alloc", "alloc", "alloc", "snapshot"));
  EXPECT_EQ(trace[0]["addr"], 0x9000);
  EXPECT_EQ(trace[1]["addr"], 0x1000);
  EXPECT_EQ(trace[1]["size"], 2048);
  EXPECT_EQ(trace[1]["time_us"], trace[2]["time_us"]);  // though its own row says later
}

// Stepping back, the viewer would look for the segment of a block that nothing takes away.
TEST_F(MemoryVizTest, ASegmentWithABlockOfUnknownTimeIsAlwaysThere) {
  block(0x1000, 512, 2'000'000'000, 0);
  segment(0x1000, {{512, kAllocated}, {512, kPending}, {1024, kFree}});
  runtime({kCuda, 0}, format::RuntimeKind::device, 0x1000, 2048, true);
  EXPECT_THAT(actions(exported()["device_traces"][0]), ElementsAre("alloc", "snapshot"));
}

TEST_F(MemoryVizTest, TheFailureIsAnEventOfItsDevice) {
  segment(0x1000, {{512, kFree}});
  analyzer::Failure& failure = failure_.emplace();
  failure.kind = uint8_t(format::FailureKind::device);
  failure.device = {kCuda, 0};
  failure.requested = 3 * kMiB;
  failure.limit_bytes = 10 * kMiB;
  failure.left_bytes = 2 * kMiB;
  failure.site = site_;
  const json snapshot = exported();
  const json& trace = snapshot["device_traces"][0];
  ASSERT_THAT(actions(trace), ElementsAre("oom", "snapshot"));
  EXPECT_EQ(trace[0]["size"], 3 * kMiB);
  EXPECT_EQ(trace[0]["device_free"], 2 * kMiB);
  EXPECT_EQ(trace[0]["frames"].size(), 2u);
  EXPECT_THAT(snapshot["device_traces"][1], IsEmpty());
}

TEST_F(MemoryVizTest, NothingFailedYetWhereMemoryIsLow) {
  failure_.emplace().kind = uint8_t(format::FailureKind::low_memory);
  EXPECT_THAT(exported()["device_traces"][0], IsEmpty());
}

TEST_F(MemoryVizTest, CategoriesAreColours) {
  block(0x10000, 4096, 2'000'000'000);
  TensorSpec tensor;
  tensor.sizes = {1024};
  tensor.storage_base = 0x10000;
  tensor.serial = 17;
  builder_.tensor(tensor);
  block(0x20000, 300, 3'000'000'000);
  options_.categories = {"parameter"};
  const json trace = exported()["device_traces"][0];
  EXPECT_EQ(trace[0]["category"], "parameter");
  EXPECT_EQ(trace[0]["user_metadata"], "#17");
  EXPECT_EQ(trace[1]["category"], "unknown");
  EXPECT_EQ(trace[1]["user_metadata"], "in no tensor");
  EXPECT_EQ(trace[2]["category"], "unknown");  // the viewer must know this one
}

TEST_F(MemoryVizTest, FramesAreWrittenOnce) {
  for (uint64_t i = 0; i < 100; i++) block(0x10000 + i * 0x1000, 4096, 2'000'000'000 + i);
  const std::string text = bytes();
  size_t times = 0;
  for (size_t at = 0; (at = text.find("/home/u/net.py", at)) != text.npos; at++) times++;
  EXPECT_EQ(times, 1u);
}

TEST_F(MemoryVizTest, SettingsOfTheAllocator) {
  segment(0x1000, {{512, kFree}});
  devices_[0].settings = "max_split_size_mb:128,expandable_segments:True";
  const json settings = exported()["allocator_settings"];
  EXPECT_EQ(settings["PYTORCH_CUDA_ALLOC_CONF"], devices_[0].settings);
  EXPECT_EQ(settings["expandable_segments"], true);
  devices_[0].settings = "expandable_segments:False";
  EXPECT_EQ(exported()["allocator_settings"]["expandable_segments"], false);
}

}  // namespace
}  // namespace tensorscope::exports
