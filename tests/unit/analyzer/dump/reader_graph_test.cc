// SPDX-License-Identifier: Apache-2.0
// Reading of the autograd graph and of Python's references, sound and hostile.
// Covers: analyzer/dump/decode/{graph_rows,reference_rows}.cc analyzer/dump/same_names.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/reader.h"
#include "dump/same_names.h"
#include "support/dump_builder.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {
namespace {

using testing::Chunk;
using testing::DumpBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ReferenceSpec;
using testing::TensorSpec;

constexpr char kMul[] = "N5torch8autograd9generated12MulBackward0E";
constexpr char kLeaf[] = "N5torch8autograd14AccumulateGradE";

Dump read_graph(const std::string& bytes) { return read_dump_bytes(bytes.data(), bytes.size(), "x.tscope"); }

// Two multiplications over one leaf: 1 -> 0 -> 2, 1 -> 2.
struct Sample {
  DumpBuilder builder;
  uint64_t a, b, seen;
  uint32_t inner, outer, leaf;

  Sample() {
    a = builder.tensor({});
    b = builder.tensor({});
    seen = builder.node(0x5000, kMul, 0);
    inner = builder.graph_node({kMul, 0x5000, seen, 0, 7});
    outer = builder.graph_node({kMul, 0x6000});
    leaf = builder.graph_node({kLeaf, 0x7000, 0, 0x77, 0, uint8_t(format::GraphNodeFlag::accumulates)});
    builder.edge(outer, inner);
    builder.edge(outer, leaf, 1);
    builder.edge(inner, leaf);
    builder.edge(inner, UINT32_MAX);
    builder.saved(inner, {a, 0});
    builder.saved(inner, {b, 1, 3, format::SlotState::held, true});
    builder.saved(leaf, {0, 0, -1, format::SlotState::packed});
    builder.slot_name("MulBackward0", 0, "self");
    builder.slot_name(kMul, 1, "other");
    builder.node_reference(outer, "total_loss", "train.py");
    builder.reference({b, "history[3]", "train.py", "list"});
    builder.reference(
        {a, "model.fc1.weight", "", "dict", format::ReferenceRoot::global, format::ReferenceRole::parameter, 4});
    builder.reference({b, "h", "Block.forward", "", format::ReferenceRoot::local});
    builder.tensor_object({b, "DTensor", 9, format::WrapperState::garbage, true, true});
  }
};

void expect_sample(const Dump& dump) {
  const Graph& graph = dump.graph;
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_TRUE(graph.present && graph.complete);
  EXPECT_THAT(graph.class_names, ElementsAre("MulBackward0", "AccumulateGrad"));
  EXPECT_EQ(graph.class_name(2), "AccumulateGrad");
  EXPECT_EQ(graph.nodes[0].seen, 0u);
  EXPECT_EQ(graph.nodes[0].sequence, 7u);
  EXPECT_EQ(graph.nodes[1].seen, kNone);
  EXPECT_EQ(graph.nodes[2].object, 0x77u);
  ASSERT_EQ(graph.edges_of(1).size(), 2u);
  EXPECT_EQ(graph.edges_of(1)[0].node, 0u);
  EXPECT_EQ(graph.edges_of(1)[1].node, 2u);
  EXPECT_EQ(graph.edges_of(1)[1].input, 1u);
  EXPECT_EQ(graph.edges_of(0)[1].node, kNoNode);
  EXPECT_THAT(graph.edges_of(2), IsEmpty());
  ASSERT_EQ(graph.saved_of(0).size(), 2u);
  EXPECT_EQ(graph.saved_of(0)[0].tensor, 0u);
  EXPECT_EQ(graph.slot_name(0, graph.saved_of(0)[0]), "self");
  EXPECT_EQ(graph.saved_of(0)[1].tensor, 1u);
  EXPECT_TRUE(graph.saved_of(0)[1].output);
  EXPECT_EQ(graph.slot_name(0, graph.saved_of(0)[1]), "other[3]");
  ASSERT_EQ(graph.saved_of(2).size(), 1u);
  EXPECT_EQ(graph.saved_of(2)[0].tensor, kNone);
  EXPECT_EQ(graph.saved_of(2)[0].state, uint8_t(format::SlotState::packed));
  EXPECT_EQ(graph.slot_name(2, graph.saved_of(2)[0]), "variable");

  ASSERT_EQ(dump.references.of(0).size(), 1u);
  EXPECT_EQ(dump.references.of(0)[0].line(), "model.fc1.weight");
  ASSERT_EQ(dump.references.of(1).size(), 2u);
  EXPECT_EQ(dump.references.of(1)[0].line(), "train.py: history[3]");
  EXPECT_EQ(dump.references.of(1)[0].holder, "list");
  EXPECT_EQ(dump.references.of(1)[1].line(), "h (local of Block.forward)");
  EXPECT_FALSE(dump.references.tensors[0].known);
  const TensorObject& object = dump.references.tensors[1];
  EXPECT_TRUE(object.known && object.optimized && object.trained);
  EXPECT_EQ(object.type_name, "DTensor");
  EXPECT_EQ(object.references, 9u);
  EXPECT_EQ(object.state, uint8_t(format::WrapperState::garbage));
  ASSERT_EQ(dump.references.nodes.size(), 1u);
  EXPECT_EQ(dump.references.nodes[0].node, 1u);
  EXPECT_EQ(dump.references.nodes[0].line(), "train.py: total_loss");
}

TEST(ReaderGraph, ReadsWhatTheBuilderWrote) {
  Dump dump = read_graph(Sample().builder.bytes());
  EXPECT_THAT(dump.problems, IsEmpty());
  expect_sample(dump);
}

TEST(ReaderGraph, SeveralChunksMakeOneGraph) {
  Sample sample;
  sample.builder.rows_per_chunk = 1;
  Dump dump = read_graph(sample.builder.bytes());
  EXPECT_THAT(dump.problems, IsEmpty());
  expect_sample(dump);
}

TEST(ReaderGraph, ReferencesMayComeFirst) {
  std::vector<Chunk> chunks = Sample().builder.chunks();
  std::reverse(chunks.begin() + 1, chunks.end());
  Dump dump = read_graph(DumpBuilder::frame(chunks));
  EXPECT_THAT(dump.problems, IsEmpty());
  expect_sample(dump);
}

// A tensor that a variable of a running call refers to.
void refers(DumpBuilder& builder, uint64_t thread, const char* name, uint32_t depth) {
  ReferenceSpec reference;
  reference.tensor = builder.tensor({});
  reference.root = format::ReferenceRoot::local;
  reference.scope = "run";
  reference.text = "batch";
  reference.thread = thread;
  reference.thread_name = name;
  reference.depth = depth;
  builder.reference(reference);
}

std::vector<std::string> reference_lines(DumpBuilder& builder) {
  const Dump dump = read_graph(builder.bytes());
  EXPECT_THAT(dump.problems, IsEmpty());
  std::vector<std::string> lines;
  for (const Reference& row : dump.references.rows) lines.push_back(row.line());
  return lines;
}

TEST(ReaderGraph, VariablesOfOneNameAreToldApartByThreadAndDepth) {
  DumpBuilder once, threads, depths, both, alike;
  refers(once, 1, "MainThread", 1);
  refers(threads, 1, "MainThread", 1);
  refers(threads, 2, "", 1);
  refers(depths, 1, "MainThread", 1);
  refers(depths, 1, "MainThread", 2);
  refers(both, 1, "MainThread", 1);
  refers(both, 1, "MainThread", 2);
  refers(both, 2, "loader", 1);
  refers(alike, 7, "worker", 1);
  refers(alike, 8, "worker", 1);
  EXPECT_THAT(reference_lines(once), ElementsAre("batch (local of run)"));
  EXPECT_THAT(reference_lines(threads),
              ElementsAre("batch (local of run, thread MainThread)", "batch (local of run, thread #2)"));
  EXPECT_THAT(reference_lines(depths), ElementsAre("batch (local of run, call 1)", "batch (local of run, call 2)"));
  EXPECT_THAT(reference_lines(both), ElementsAre("batch (local of run, thread MainThread, call 1)",
                                                 "batch (local of run, thread MainThread, call 2)",
                                                 "batch (local of run, thread loader, call 1)"));
  EXPECT_THAT(reference_lines(alike),
              ElementsAre("batch (local of run, thread worker #7)", "batch (local of run, thread worker #8)"));
}

TEST(ReaderGraph, WhatOneDumpTellsApartHasTheSameNamesInTheOther) {
  DumpBuilder one, two;
  refers(one, 1, "MainThread", 1);
  refers(two, 1, "MainThread", 1);
  refers(two, 2, "loader", 1);
  Dump first = read_graph(one.bytes()), second = read_graph(two.bytes());
  References* const run[] = {&first.references, &second.references};
  distinguish_same_names(run);
  EXPECT_EQ(first.references.rows[0].line(), "batch (local of run, thread MainThread)");
  EXPECT_EQ(second.references.rows[1].line(), "batch (local of run, thread loader)");
}

TEST(ReaderGraph, ADumpWithoutThemSaysSo) {
  DumpBuilder builder;
  builder.tensor({});
  Dump dump = read_graph(builder.bytes());
  EXPECT_FALSE(dump.graph.present);
  EXPECT_FALSE(dump.references.present);
  EXPECT_THAT(dump.references.of(0), IsEmpty());
}

TEST(ReaderGraph, IncompleteOnesSayWhy) {
  Sample sample;
  sample.builder.graph_complete = sample.builder.references_complete = false;
  Dump dump = read_graph(sample.builder.bytes());
  EXPECT_FALSE(dump.graph.complete);
  EXPECT_EQ(dump.graph.detail, "there was no time");
  EXPECT_FALSE(dump.references.complete);
  EXPECT_EQ(dump.references.detail, "there was no time");
}

TEST(ReaderGraph, NewTotals) {
  DumpBuilder builder;
  builder.heap_in_use = 1, builder.heap_free = 2, builder.children = 3, builder.children_resident_bytes = 4;
  Dump dump = read_graph(builder.bytes());
  EXPECT_EQ(dump.totals.heap_in_use, 1u);
  EXPECT_EQ(dump.totals.heap_free, 2u);
  EXPECT_TRUE(dump.totals.children_known);
  EXPECT_EQ(dump.totals.children, 3u);
  EXPECT_EQ(dump.totals.children_resident_bytes, 4u);
}

TEST(ReaderGraph, NumbersThatPointNowhereAreCleared) {
  Sample sample;
  sample.builder.edge(sample.inner, 3);
  sample.builder.saved(sample.outer, {999});
  sample.builder.graph_node({kMul, 0, 998});
  sample.builder.reference({997, "x", "train.py"});
  sample.builder.reference(
      {sample.b, "y", "MulBackward0", "", format::ReferenceRoot::node, format::ReferenceRole::saved, 0, 50});
  sample.builder.tensor_object({996});
  sample.builder.node_reference(4, "z", "train.py");
  Dump dump = read_graph(sample.builder.bytes());
  EXPECT_EQ(dump.graph.edges_of(0)[2].node, 3u);
  EXPECT_EQ(dump.graph.saved_of(1)[0].tensor, kNone);
  EXPECT_EQ(dump.graph.nodes[3].seen, kNone);
  ASSERT_EQ(dump.references.of(1).size(), 3u);
  EXPECT_EQ(dump.references.of(1)[2].node, kNoNode);
  EXPECT_EQ(dump.references.rows.size(), 4u);
  EXPECT_EQ(dump.references.nodes.size(), 1u);
  EXPECT_THAT(dump.problems, ElementsAre(::testing::AllOf(HasSubstr("3 references to missing tensors"),
                                                          HasSubstr("3 references to missing autograd nodes"))));
}

TEST(ReaderGraph, KindsThatCannotBeAreCleared) {
  Sample sample;
  sample.builder.saved(sample.outer, {sample.a, 0, -1, format::SlotState(9)});
  sample.builder.reference({sample.a, "x", "train.py", "", format::ReferenceRoot(77)});
  sample.builder.reference({sample.a, "x", "train.py", "", format::ReferenceRoot::global, format::ReferenceRole(77)});
  sample.builder.tensor_object({sample.a, "Tensor", 1, format::WrapperState(77)});
  Dump dump = read_graph(sample.builder.bytes());
  EXPECT_EQ(dump.graph.saved_of(1)[0].state, uint8_t(format::SlotState::empty));
  ASSERT_EQ(dump.references.of(0).size(), 2u);
  EXPECT_EQ(dump.references.of(0)[1].role, 0);
  EXPECT_EQ(dump.references.tensors[0].state, 0);
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("invalid state")));
}

// A node that claims more edges than its chunk has must not get those of the next chunk.
TEST(ReaderGraph, CountsBeyondTheChunkAreCut) {
  std::vector<Chunk> chunks = Sample().builder.chunks();
  for (Chunk& chunk : chunks) {
    if (chunk.type != format::kGraph) continue;
    flatbuffers::FlatBufferBuilder fbb;
    std::vector<format::GraphNode> nodes = {{0x5000, 0, 0, 0, 9, 1, 0xffffffff, 0},
                                            {0x6000, 0, 0, 0, 0, 0xfffffff0, 2, 0}};
    std::vector<format::GraphEdge> edges = {{1, 0}, {0, 0}};
    std::vector<format::SavedSlot> saved = {{1, 0, 0, format::SlotState::held, 0}};
    fbb.FinishSizePrefixed(format::CreateGraphRowsDirect(fbb, &nodes, &edges, &saved));
    chunk.payload.assign(reinterpret_cast<char*>(fbb.GetBufferPointer()), fbb.GetSize());
    chunks.push_back(chunk);
    break;
  }
  Dump dump = read_graph(DumpBuilder::frame(chunks));
  const Graph& graph = dump.graph;
  ASSERT_EQ(graph.nodes.size(), 4u);
  for (uint32_t i = 0; i < 4; i++) {
    EXPECT_LE(graph.nodes[i].first_edge + graph.nodes[i].edge_count, graph.edges.size());
    EXPECT_LE(graph.nodes[i].first_saved + graph.nodes[i].saved_count, graph.saved.size());
    EXPECT_TRUE(graph.nodes[i].flags & uint8_t(format::GraphNodeFlag::partial));
  }
  EXPECT_EQ(graph.nodes[1].edge_count, 1u);
  EXPECT_EQ(graph.nodes[2].first_edge, 2u);
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("4 autograd nodes whose edges or slots are not in the file")));
}

TEST(ReaderGraph, EdgesOfNoNodeAreLeftOut) {
  std::vector<Chunk> chunks = DumpBuilder().chunks();
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<format::GraphNode> nodes = {{0x5000, 0, 0, 0, 0, 0, 0, 0}};
  std::vector<format::GraphEdge> edges(1000, format::GraphEdge(0, 0));
  fbb.FinishSizePrefixed(format::CreateGraphRowsDirect(fbb, &nodes, &edges));
  chunks.push_back({format::kGraph, {reinterpret_cast<char*>(fbb.GetBufferPointer()), fbb.GetSize()}});
  Dump dump = read_graph(DumpBuilder::frame(chunks));
  EXPECT_THAT(dump.graph.edges, IsEmpty());
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("edges or saved slots of no autograd node")));
}

TEST(ReaderGraph, EveryPayloadCutAnywhere) {
  const std::vector<Chunk> chunks = Sample().builder.chunks();
  for (size_t i = 0; i < chunks.size(); i++) {
    if (chunks[i].type != format::kGraph && chunks[i].type != format::kReferences) continue;
    for (size_t size = 0; size < chunks[i].payload.size(); size++) {
      std::vector<Chunk> changed = chunks;
      changed[i].payload.resize(size);
      ASSERT_FALSE(read_graph(DumpBuilder::frame(changed)).complete);
    }
  }
}

}  // namespace
}  // namespace tensorscope::analyzer
