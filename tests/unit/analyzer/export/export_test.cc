// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/export/json/{autograd,dump,dump_fields,memory,process,scalars,stacks,tensors}.cc
// Covers: analyzer/export/table_export.cc
#include "export/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <streambuf>

#include "dump/reader.h"
#include "support/dump_builder.h"

namespace tensorscope::exports {
namespace {

using nlohmann::json;
using testing::AllocationSpec;
using testing::DumpBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TensorSpec;

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() {
    builder_.options = {{"TENSORSCOPE_SIGNAL", "10"}};
    uint32_t thread = builder_.thread(4242, "python");
    uint32_t python =
        builder_.python({{"/home/u/train.py", "main", 3, true}, {"/home/u/model.py", "forward", 9, true}});
    uint32_t site = builder_.site(builder_.native({0x1000}), python);
    AllocationSpec block;
    block.pointer = 0x10000;
    block.nbytes = 4096;
    block.site = site;
    block.thread = thread;
    builder_.allocation(block);
    TensorSpec tensor;
    tensor.address = 0x7f0000000100;
    tensor.sizes = {32, 32};
    tensor.storage_base = 0x10000;
    tensor.site = site;
    tensor.thread = thread;
    tensor.created_ns = 2'000'000'000;
    tensor.flags = uint32_t(format::TensorFlag::leaf) | uint32_t(format::TensorFlag::requires_grad);
    tensor.grad = 0x7f0000000200;
    builder_.tensor(tensor);
    tensor.address = 0x7f0000000200;
    tensor.grad = 0;
    tensor.grad_fn_name = "N5torch8autograd9generated9TBackwardE";
    tensor.storage_base = 0x20000;
    builder_.tensor(tensor);
    tensor.known = 0;
    tensor.storage_base = 0;
    tensor.note = "its metadata is Python's";
    tensor.site = 0;
    tensor.thread = 0;
    builder_.tensor(tensor);
    builder_.coverage("CPU memory", format::Seen::yes, "");
  }

  void read() {
    std::string bytes = builder_.bytes();
    dump_ = analyzer::read_dump_bytes(bytes.data(), bytes.size(), "x.tscope");
  }
  json exported(const ExportOptions& options = {}) { return json::parse(text(export_json, options)); }
  template <typename Export>
  std::string text(Export write, const ExportOptions& options = {}) {
    read();
    analyzer::SymbolOptions symbol_options;
    symbol_options.use_cache = false;
    analyzer::Symbols symbols(dump_, symbol_options);
    std::ostringstream out;
    write(dump_, symbols, out, options);
    return out.str();
  }

  DumpBuilder builder_;
  analyzer::Dump dump_;
};

TEST_F(ExportTest, JsonHasWhatIsPromised) {
  json all = exported();
  for (const char* part : {"process", "totals", "tensors", "storages", "allocations", "stacks", "sites"}) {
    EXPECT_TRUE(all.contains(part)) << part;
  }
  const json& tensor = all["tensors"][0];
  for (const char* field : {"id",     "address",       "class",   "shape",  "strides",    "dtype",          "device",
                            "layout", "requires_grad", "is_leaf", "nbytes", "storage",    "storage_offset", "grad_fn",
                            "names",  "category",      "holders", "thread", "created_ns", "stack"}) {
    EXPECT_TRUE(tensor.contains(field)) << field;
  }
  EXPECT_EQ(tensor["address"], 0x7f0000000100);
  EXPECT_EQ(tensor["class"], "c10::TensorImpl");
  EXPECT_EQ(tensor["shape"], json({32, 32}));
  EXPECT_EQ(tensor["strides"], json({32, 1}));
  EXPECT_EQ(tensor["dtype"], "float32");
  EXPECT_EQ(tensor["device"], "cpu");
  EXPECT_EQ(tensor["layout"], "strided");
  EXPECT_EQ(tensor["requires_grad"], true);
  EXPECT_EQ(tensor["is_leaf"], true);
  EXPECT_EQ(tensor["nbytes"], 4096);
  EXPECT_EQ(tensor["grad_fn"], nullptr);
  EXPECT_EQ(tensor["grad"], all["tensors"][1]["id"]);
  EXPECT_EQ(tensor["thread"], 4242);
  EXPECT_EQ(tensor["age_ns"], 59'000'000'000);
  EXPECT_EQ(all["tensors"][1]["grad_fn"], "TBackward");
  const json& storage = all["storages"][0];
  EXPECT_EQ(storage["id"], tensor["storage"]);
  EXPECT_EQ(storage["kind"], "allocator");
  EXPECT_EQ(storage["allocation"], all["allocations"][0]["id"]);
  EXPECT_EQ(all["storages"][1]["kind"], "external");
  EXPECT_EQ(all["storages"][1]["allocation"], nullptr);
  EXPECT_EQ(all["process"]["trigger"], "signal");
  EXPECT_EQ(all["process"]["rank"], nullptr);
  EXPECT_EQ(all["process"]["options"]["TENSORSCOPE_SIGNAL"], "10");
  EXPECT_EQ(all["coverage"][0]["seen"], "yes");
}

TEST_F(ExportTest, StacksAreInnermostFirstAndTheSameEverywhere) {
  json all = exported();
  const json& stack = all["tensors"][0]["stack"];
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_EQ(stack[0]["language"], "native");
  EXPECT_EQ(stack[0]["function"], nullptr);
  EXPECT_EQ(stack[0]["address"], 0x1000);
  EXPECT_EQ(stack[1], json({{"language", "python"},
                            {"function", "forward"},
                            {"file", "/home/u/model.py"},
                            {"line", 9},
                            {"module", nullptr}}));
  EXPECT_EQ(stack[2]["function"], "main");
  EXPECT_EQ(all["stacks"][0]["frames"], stack);
  EXPECT_EQ(all["sites"][0]["stack"], all["stacks"][0]["id"]);
  EXPECT_EQ(all["sites"][0]["headline"]["function"], "forward");
}

TEST_F(ExportTest, StacksCanBeIds) {
  ExportOptions options;
  options.stacks_in_tensors = false;
  json all = exported(options), whole = exported();
  const json& id = all["tensors"][0]["stack"];
  ASSERT_EQ(id, all["stacks"][0]["id"]);
  EXPECT_EQ(all["stacks"][0]["frames"], whole["tensors"][0]["stack"]);
  EXPECT_EQ(all["tensors"][2]["stack"], nullptr);
  for (json* one : {&all, &whole}) {
    for (json& tensor : (*one)["tensors"]) tensor.erase("stack");
  }
  EXPECT_EQ(all, whole) << "nothing else differs";
}

// Counts what is written, and the largest piece of it.
class CountingBuffer : public std::streambuf {
 public:
  size_t total = 0, largest = 0;

 protected:
  std::streamsize xsputn(const char*, std::streamsize size) override {
    total += size_t(size);
    largest = std::max(largest, size_t(size));
    return size;
  }
  int_type overflow(int_type c) override {
    total += 1;
    return traits_type::not_eof(c);
  }
};

TEST_F(ExportTest, JsonIsWrittenRowByRow) {
  std::vector<testing::PythonFrameSpec> frames;
  for (int i = 0; i < 100; ++i) frames.push_back({"/home/u/train.py", "main", 3 + i, true});
  TensorSpec tensor;
  tensor.site = builder_.site(0, builder_.python(frames));
  constexpr size_t kTensors = 2000;
  for (size_t i = 0; i < kTensors; ++i) {
    tensor.address += 0x100;
    builder_.tensor(tensor);
  }
  read();
  analyzer::Symbols symbols(dump_, {});
  CountingBuffer counted;
  std::ostream out(&counted);
  export_json(dump_, symbols, out, {});
  EXPECT_GT(counted.total, kTensors * frames.size() * 50);
  EXPECT_LT(counted.largest, counted.total / 100);
}

TEST_F(ExportTest, WhatIsNotKnownIsNull) {
  const json tensor = exported()["tensors"][2];
  for (const char* field : {"shape", "strides", "dtype", "device", "layout", "requires_grad", "is_leaf", "storage",
                            "storage_offset", "is_view", "thread", "site"}) {
    EXPECT_EQ(tensor[field], nullptr) << field;
  }
  EXPECT_EQ(tensor["stack"], json::array());
  EXPECT_EQ(tensor["note"], "its metadata is Python's");
}

// What a recording knows of a tensor that had its end before the first look at it.
TEST_F(ExportTest, AnOffsetIsReadWithTheStrides) {
  TensorSpec tensor;
  tensor.sizes = {4};
  tensor.storage_base = 0x7000;
  tensor.known = uint32_t(format::TensorKnown::sizes) | uint32_t(format::TensorKnown::storage);
  builder_.tensor(tensor);
  const json row = exported()["tensors"].back();
  EXPECT_NE(row["storage"], nullptr);
  EXPECT_EQ(row["storage_offset"], nullptr);
  EXPECT_EQ(row["is_view"], nullptr);
}

TEST_F(ExportTest, HostileTextIsStillJson) {
  builder_.program = "\xff\xfe\"\\\x1b[31m\n";
  EXPECT_THAT(exported()["process"]["program"].get<std::string>(), HasSubstr("\"\\\x1b[31m\n"));
}

TEST_F(ExportTest, KindsAndStatesAreCalledAsInTheSchema) {
  std::vector<std::string> kinds, states;
  for (const format::AllocationKind kind : format::EnumValuesAllocationKind()) {
    AllocationSpec block;
    block.pointer = 0x1000000 + uint64_t(kind) * 0x1000;
    block.nbytes = 64;
    block.kind = kind;
    builder_.allocation(block);
    kinds.push_back(format::EnumNameAllocationKind(kind));
  }
  const uint32_t node = builder_.graph_node({"N5torch8autograd9generated9TBackwardE"});
  for (const format::SlotState state : format::EnumValuesSlotState()) {
    builder_.saved(node, {0, uint16_t(state), -1, state});
    states.push_back(format::EnumNameSlotState(state));
  }
  const json out = exported();
  std::vector<std::string> written_kinds, written_states;
  for (const json& row : out["allocations"]) written_kinds.push_back(row["kind"]);
  written_kinds.erase(written_kinds.begin());  // the fixture's own
  for (const json& slot : out["graph"]["nodes"][0]["saved"]) written_states.push_back(slot["state"]);
  EXPECT_EQ(written_kinds, kinds);
  EXPECT_EQ(written_states, states);
}

// docs/json.md promises these.
TEST(HolderKinds, HaveTheirNames) {
  std::vector<std::string> names;
  for (uint8_t kind = 0; *analyzer::text(analyzer::Holder::Kind(kind)); kind++) {
    names.push_back(analyzer::text(analyzer::Holder::Kind(kind)));
  }
  EXPECT_THAT(names, ElementsAre("python", "saved", "gradient", "view", "storage", "accumulator", "cycle", "traceback",
                                 "part", "cpp", "unknown"));
}

TEST_F(ExportTest, CategoriesAreTakenOver) {
  ExportOptions options;
  options.categories = {"parameter", "gradient", "unknown"};
  json all = exported(options);
  EXPECT_EQ(all["tensors"][0]["category"], "parameter");
  EXPECT_EQ(all["tensors"][1]["category"], "gradient");
  EXPECT_EQ(exported()["tensors"][0]["category"], "unknown");
}

TEST_F(ExportTest, AnEmptyDumpIsStillWhole) {
  builder_ = DumpBuilder();
  json all = exported();
  for (const char* part : {"tensors", "storages", "allocations", "stacks", "sites", "threads", "coverage"}) {
    EXPECT_EQ(all[part], json::array()) << part;
  }
}

TEST_F(ExportTest, CsvHasOneRowATensor) {
  builder_.program = "x";
  TensorSpec odd;
  odd.class_name = "6a,\"b\"c";
  builder_.tensor(odd);
  std::istringstream in(text(export_csv));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], HasSubstr("id,address,class,shape"));
  EXPECT_THAT(lines[1], HasSubstr(",c10::TensorImpl,[32 32],[32 1],float32,cpu,strided,true,true,4096,"));
  EXPECT_THAT(lines[1], HasSubstr("python,forward,/home/u/model.py,9\r"));
  EXPECT_THAT(lines[4], HasSubstr(",\"a,\"\"b\"\"c\",[],[],"));
}

TEST_F(ExportTest, FoldedStacksHoldEveryLiveByteOnce) {
  EXPECT_EQ(text(export_folded), "main (train.py:3);forward (model.py:9);unknown 8192\n");
}

TEST_F(ExportTest, WhatFailedAndWhoseMemoryADevicesIs) {
  EXPECT_TRUE(exported()["failure"].is_null());
  EXPECT_THAT(exported()["device_memory"], IsEmpty());
  testing::FailureSpec failure;
  failure.requested = 1 << 20;
  failure.thread = 1;
  builder_.failure(failure);
  testing::DeviceMemorySpec memory;
  memory.driver_total = 1000;
  memory.driver_free = 10;
  memory.processes = {{77, UINT64_MAX}};
  testing::SegmentSpec segment;
  segment.address = 0x100;
  segment.size = 0x200;
  segment.blocks = {{0x100, 0x80, 0x70, format::BlockState::pending_free}};
  memory.segments = {segment};
  builder_.device_memory(memory);
  const uint64_t id = builder_.runtime_block({.pointer = 0x20000, .nbytes = 0x8000, .device_index = -1});
  const json out = exported();
  EXPECT_EQ(out["failure"]["kind"], "device");
  EXPECT_EQ(out["failure"]["requested"], 1 << 20);
  EXPECT_EQ(out["failure"]["thread"], 4242);
  EXPECT_TRUE(out["failure"]["left_bytes"].is_null());
  const json& device = out["device_memory"][0];
  EXPECT_EQ(device["device"], "cuda:0");
  EXPECT_EQ(device["driver_free"], 10);
  EXPECT_TRUE(device["processes"][0]["bytes"].is_null());
  EXPECT_EQ(device["segments_from"], "snapshot");
  EXPECT_EQ(device["segments"][0]["active"], 0x80);
  EXPECT_EQ(device["segments"][0]["blocks"][0]["state"], "pending_free");
  EXPECT_EQ(out["runtime_blocks"][0]["id"], id);
  EXPECT_EQ(out["runtime_blocks"][0]["kind"], "device");
  EXPECT_EQ(out["runtime_blocks"][0]["storages"][0], out["storages"][1]["id"]);
  EXPECT_EQ(out["storages"][1]["runtime_block"], id);
  EXPECT_TRUE(out["storages"][0]["runtime_block"].is_null());
}

}  // namespace
}  // namespace tensorscope::exports
