// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/html/{question_data,graph_data}.cc
#include "html/question_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/reader.h"
#include "dump_generated.h"
#include "html/graph_data.h"
#include "packed.h"
#include "support/dump_builder.h"

namespace tensorscope::html {
namespace {

using testing::AllocationSpec;
using testing::DumpBuilder;
using ::testing::ElementsAre;
using testing::TensorSpec;

const analyzer::SymbolOptions kNoSymbols{
    .sysroot = {}, .source_folders = {}, .debug_dirs = {}, .use_cache = false, .native = false};

// `blocks` tensors of 1 KiB that one line made.
analyzer::Dump dump_with(int blocks, uint64_t dump_ns) {
  DumpBuilder builder;
  builder.dump_ns = dump_ns;
  const uint32_t site = builder.site(0, builder.python({{"/p/train.py", "step", 7, true}}));
  for (int i = 0; i < blocks; ++i) {
    AllocationSpec block;
    block.pointer = 0x10000 + uint64_t(i) * 0x1000;
    block.nbytes = 1024;
    block.site = site;
    builder.allocation(block);
    TensorSpec tensor;
    tensor.address = 0x7f0000000000 + uint64_t(i) * 0x100;
    tensor.sizes = {256};
    tensor.storage_base = block.pointer;
    tensor.site = site;
    builder.tensor(tensor);
  }
  const std::string bytes = builder.bytes();
  return analyzer::read_dump_bytes(bytes.data(), bytes.size(), "x.tscope");
}

TEST(DiffData, HasWhatGrew) {
  std::vector<analyzer::Dump> read;
  read.push_back(dump_with(2, 10'000'000'000));
  read.push_back(dump_with(5, 70'000'000'000));
  analyzer::ComparedDumps dumps(std::move(read), {}, kNoSymbols);
  const Json diff = diff_data(dumps);
  EXPECT_EQ(diff["bytes"], Json({2048, 5120}));
  EXPECT_EQ(diff["changes"][0]["bytes"], Json({2048, 5120}));
  EXPECT_EQ(diff["changes"][0]["where"], "/p/train.py:7 step");
  EXPECT_EQ(diff["same_run"], true);
}

TEST(DiffData, IsNotThereForOneDump) {
  std::vector<analyzer::Dump> read;
  read.push_back(dump_with(2, 10'000'000'000));
  analyzer::ComparedDumps dumps(std::move(read), {}, kNoSymbols);
  EXPECT_TRUE(diff_data(dumps).is_null());
}

TEST(LeaksData, HasTheAnswerAndItsText) {
  std::vector<analyzer::Dump> read;
  read.push_back(dump_with(2, 10'000'000'000));
  read.push_back(dump_with(5, 70'000'000'000));
  analyzer::ComparedDumps dumps(std::move(read), {}, kNoSymbols);
  const Json leaks = leaks_data(dumps);
  EXPECT_EQ(leaks["answer"]["live_bytes"], Json({2048, 5120}));
  EXPECT_TRUE(leaks["returned"].is_null());
  EXPECT_THAT(leaks["text"].get<std::string>(), ::testing::HasSubstr("same run, 1m00s later, 1 interval"));
}

TEST(LeaksData, NamesTheExitDumpThatIsLeftOut) {
  std::vector<analyzer::Dump> read;
  read.push_back(dump_with(2, 10'000'000'000));
  read.push_back(dump_with(2, 70'000'000'000));
  const auto held_from = [](analyzer::Dump& dump, format::ReferenceRoot root) {
    dump.references.present = true;
    dump.references.tensors.resize(2);
    dump.references.first = {0, 1, 1};
    dump.references.rows.resize(1);
    dump.references.rows[0].tensor = 0;
    dump.references.rows[0].root = uint8_t(root);
    dump.references.named = 1;
  };
  held_from(read[0], format::ReferenceRoot::local);
  held_from(read[1], format::ReferenceRoot::cycle);
  read[1].process.trigger = uint8_t(format::Trigger::exit);
  read[1].path = "x.exit.tscope";
  analyzer::ComparedDumps dumps(std::move(read), {}, kNoSymbols);
  const Json leaks = leaks_data(dumps);
  EXPECT_EQ(leaks["returned"], "x.exit.tscope");
  EXPECT_EQ(leaks["dumps"], Json({"x.tscope"}));
}

TEST(OomData, HasTheBalanceOfADumpWithoutAFailure) {
  std::vector<analyzer::Dump> read;
  read.push_back(dump_with(2, 10'000'000'000));
  analyzer::ComparedDumps dumps(std::move(read), {}, kNoSymbols);
  Payload payload;
  const Json oom = oom_data(dumps, payload);
  EXPECT_TRUE(oom["answer"]["request"].is_null());
  EXPECT_EQ(oom["answer"]["device"], "cpu");
  EXPECT_FALSE(oom["text"].get<std::string>().empty());
}

TEST(GraphData, IsNotThereWhereADumpHasNone) {
  analyzer::OpenedDump opened(dump_with(1, 10'000'000'000), kNoSymbols);
  Texts texts;
  Payload payload;
  EXPECT_TRUE(graph_data(opened, texts, payload).is_null());
}

TEST(GraphData, HasNodesEdgesAndSavedTensors) {
  analyzer::Dump dump = dump_with(2, 10'000'000'000);
  dump.graph.present = true;
  dump.graph.class_names = {"MulBackward0", "AccumulateGrad"};
  dump.graph.nodes.resize(2);
  dump.graph.nodes[0].edge_count = 2;
  dump.graph.nodes[0].saved_count = 2;
  dump.graph.nodes[1].class_name = 1;
  dump.graph.nodes[1].first_edge = 2;
  dump.graph.nodes[1].first_saved = 2;
  dump.graph.edges = {{1, 0}, {analyzer::kNoNode, 0}};
  dump.graph.saved = {{.tensor = 1}, {.tensor = analyzer::kNone}};
  dump.graph.slot_names[{0, 0}] = "self";
  analyzer::OpenedDump opened(std::move(dump), kNoSymbols);
  Texts texts;
  Payload payload;
  const Json head = {{"graph", graph_data(opened, texts, payload)}};
  const testing::Unpacked read = testing::unpacked(testing::packed(payload, head));
  auto column = [&](const char* name) { return read.column(read.head["graph"][name]); };
  EXPECT_THAT(column("edge_end"), ElementsAre(1, 1));
  EXPECT_THAT(column("edge"), ElementsAre(1));
  EXPECT_THAT(column("saved_end"), ElementsAre(1, 1));
  EXPECT_THAT(column("saved_tensor"), ElementsAre(1));
  EXPECT_EQ(texts.all()[size_t(column("saved_slot")[0])], "self");
  EXPECT_EQ(texts.all()[size_t(column("name")[1])], "AccumulateGrad");
}

}  // namespace
}  // namespace tensorscope::html
