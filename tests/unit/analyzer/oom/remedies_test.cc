// SPDX-License-Identifier: Apache-2.0
// Every remedy once where it must appear, and once where it must not.
// Covers: analyzer/oom/{checkpointing,freed,module_inputs,remedy,holder_remedies,program_remedies,headroom}.cc
// Covers: analyzer/oom/{no_grad_remedy,precision_remedy}.cc
#include "oom/remedies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device_scene.h"

namespace tensorscope::analyzer::oom {
namespace {

using format::ReferenceRoot;
using testing::DeviceScene;
using testing::kMiB;
using testing::Told;

TEST(Remedies, SegmentsThatAreWhollyFree) {
  DeviceScene scene;
  scene.segment().piece(96 * kMiB);
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::empty_cache);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 96 * kMiB);
  EXPECT_EQ(remedy->fits, Fits::yes);

  DeviceScene in_use;
  in_use.segment().piece(96 * kMiB);
  in_use.block(512);
  EXPECT_EQ(Told(in_use).remedy(RemedyKind::empty_cache), nullptr);

  DeviceScene little;
  little.segment().piece(20 * kMiB);
  const Told not_enough(little);
  EXPECT_EQ(not_enough.remedy(RemedyKind::empty_cache)->fits, Fits::no);
  EXPECT_EQ(not_enough.remedy(RemedyKind::empty_cache)->missing, 76 * kMiB);
}

TEST(Remedies, FreeMemoryOfAnotherStream) {
  DeviceScene scene;
  scene.segment(1).block(kMiB);
  scene.piece(kMiB);
  scene.segment(2).block(kMiB);
  scene.piece(120 * kMiB);
  const Told told(scene);
  ASSERT_NE(told.remedy(RemedyKind::other_stream), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::other_stream)->bytes, 120 * kMiB);
  EXPECT_EQ(told.remedy(RemedyKind::other_stream)->fits, Fits::may);

  DeviceScene too_small;
  too_small.segment(1).block(kMiB);
  too_small.piece(kMiB);
  too_small.segment(2).block(kMiB);
  too_small.piece(90 * kMiB);
  EXPECT_EQ(Told(too_small).remedy(RemedyKind::other_stream), nullptr);
}

TEST(Remedies, FreeMemoryOfAPrivatePool) {
  DeviceScene scene;
  scene.segment(0, 3).block(kMiB);
  scene.piece(120 * kMiB);
  ASSERT_NE(Told(scene).remedy(RemedyKind::private_pool), nullptr);

  DeviceScene common;
  common.segment().block(kMiB);
  common.piece(90 * kMiB);
  EXPECT_EQ(Told(common).remedy(RemedyKind::private_pool), nullptr);
}

DeviceScene in_pieces() {
  DeviceScene scene;
  for (int i = 0; i < 3; i++) {
    scene.segment().block(kMiB);
    scene.piece(40 * kMiB);
  }
  return scene;
}

TEST(Remedies, ExpandableSegmentsWherePiecesTogetherWouldDo) {
  DeviceScene scene = in_pieces();
  scene.builder.torch_version = "2.6.0+cu124";
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::expandable_segments);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 117 * kMiB);  // six pages of 20, of which the three blocks take 3 MiB
  EXPECT_EQ(remedy->low, 0u);
  EXPECT_EQ(remedy->fits, Fits::may);
  EXPECT_EQ(remedy->names.at(0), "PYTORCH_CUDA_ALLOC_CONF");

  DeviceScene newer = in_pieces();
  newer.builder.torch_version = "2.14.1+cu130";
  EXPECT_EQ(Told(newer).remedy(RemedyKind::expandable_segments)->names.at(0), "PYTORCH_ALLOC_CONF");
}

TEST(Remedies, ExpandableSegmentsWhereOnlyAPageThatIsPartlyInUseHasRoom) {
  DeviceScene scene;
  scene.failure.requested = 10 * kMiB;
  scene.segment();
  for (int i = 0; i < 2; i++) {
    scene.block(kMiB);
    scene.piece(9 * kMiB);
  }
  const Told told(scene);
  ASSERT_NE(told.remedy(RemedyKind::expandable_segments), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::expandable_segments)->bytes, 18 * kMiB);
}

// Free small blocks give their pages back as well, and the driver's free memory joins them.
TEST(Remedies, ExpandableSegmentsTakeWhatTheOtherSizeClassDoesNotNeed) {
  DeviceScene scene = in_pieces();
  scene.segment(0, 0, uint8_t(format::SegmentFlag::small)).block(kMiB);
  scene.piece(31 * kMiB);
  EXPECT_EQ(Told(scene).remedy(RemedyKind::expandable_segments)->bytes, 137 * kMiB);  // 159, 2 of them the small pool's

  DeviceScene streams = in_pieces();
  streams.failure.requested = 80 * kMiB;
  streams.segment(7).block(kMiB);
  EXPECT_EQ(Told(streams).remedy(RemedyKind::expandable_segments)->bytes, 99 * kMiB);  // a page is the other stream's
}

TEST(Remedies, ExpandableSegmentsDoNotHelpEverybody) {
  DeviceScene on = in_pieces();
  on.memory.settings = "backend:native,expandable_segments:True";
  EXPECT_EQ(Told(on).remedy(RemedyKind::expandable_segments), nullptr);

  DeviceScene too_little = in_pieces();
  too_little.failure.requested = 130 * kMiB;
  EXPECT_EQ(Told(too_little).remedy(RemedyKind::expandable_segments), nullptr);

  DeviceScene other_backend = in_pieces();
  other_backend.memory.backend = "cudaMallocAsync";
  EXPECT_EQ(Told(other_backend).remedy(RemedyKind::expandable_segments), nullptr);

  DeviceScene nothing_failed = in_pieces();
  nothing_failed.failed = false;
  EXPECT_EQ(Told(nothing_failed).remedy(RemedyKind::expandable_segments), nullptr);
}

TEST(Remedies, GarbageInCycles) {
  DeviceScene scene;
  scene.segment();
  scene.held(scene.tensor(120 * kMiB), "self.cache", ReferenceRoot::cycle);
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::collect_garbage);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 120 * kMiB);
  EXPECT_EQ(remedy->fits, Fits::yes);
  ASSERT_TRUE(remedy->leak.has_value());
  EXPECT_EQ(remedy->leak->holders.at(0), "Net, dict");

  DeviceScene held;
  held.segment();
  const uint64_t tensor = held.tensor(120 * kMiB);
  held.builder.reference({tensor, "self.cache", "Net, dict", "list", ReferenceRoot::cycle});
  held.held(tensor, "batch", ReferenceRoot::local);
  EXPECT_EQ(Told(held).remedy(RemedyKind::collect_garbage), nullptr);
}

TEST(Remedies, AListThatHoldsMuch) {
  DeviceScene scene;
  scene.segment();
  for (int i = 0; i < 3; i++) scene.held(scene.tensor(40 * kMiB), "history[" + std::to_string(i) + "]");
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::drop_holder);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 120 * kMiB);
  EXPECT_EQ(remedy->names.at(0), "train.py: history[0..2] (list)");
  EXPECT_EQ(remedy->fits, Fits::yes);
}

TEST(Remedies, WhatOthersHoldAsWellIsNotFreedByDroppingAList) {
  DeviceScene scene;
  scene.segment();
  for (int i = 0; i < 3; i++) {
    const uint64_t tensor = scene.tensor(40 * kMiB);
    scene.held(tensor, "model.layers[" + std::to_string(i) + "].weight", ReferenceRoot::global,
               format::ReferenceRole::parameter);
    scene.builder.reference({tensor, "params[" + std::to_string(i) + "]", "train.py", "list"});
  }
  EXPECT_EQ(Told(scene).remedy(RemedyKind::drop_holder), nullptr);
}

uint32_t in_layer(DeviceScene& scene, int layer) {
  return scene.in_module("model.layers." + std::to_string(layer) + ".mlp", 10 + layer);
}

// Three layers, each with 40 MiB that only it saves; its input of 10 MiB comes from the one before.
DeviceScene layers() {
  DeviceScene scene;
  scene.segment();
  uint32_t before = scene.in_module("model", 1);
  for (int i = 0; i < 3; i++) {
    const uint32_t site = in_layer(scene, i);
    const uint32_t node = scene.node(site);
    scene.saved(10 * kMiB, before, node);
    scene.saved(40 * kMiB, site, node);
    before = site;
  }
  return scene;
}

TEST(Remedies, CheckpointingFreesWhatOnlyAModuleSaved) {
  DeviceScene scene = layers();
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::checkpoint);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->names.at(0), "model.layers.*");
  EXPECT_EQ(remedy->bytes, 120 * kMiB);  // without the inputs
  EXPECT_TRUE(remedy->at_most);
  EXPECT_EQ(remedy->fits, Fits::no);  // one layer at a time comes back: 80 are not enough
  EXPECT_EQ(remedy->missing, 16 * kMiB);
}

void saved_by(DeviceScene& scene, uint32_t node, uint64_t tensor) {
  testing::SavedSpec slot;
  slot.tensor = tensor;
  scene.builder.saved(node, slot);
}

// Three layers whose outputs nothing saves: the next one saves a copy.
DeviceScene layers_of_copies(bool output_is_alive = false) {
  DeviceScene scene;
  scene.segment();
  uint32_t before = scene.node(scene.in_module("model", 1));
  for (int i = 0; i < 3; i++) {
    const uint32_t site = in_layer(scene, i);
    const uint32_t view = scene.node(site), product = scene.node(site), activation = scene.node(site),
                   sum = scene.node(site);
    scene.builder.edge(view, before);
    scene.builder.edge(product, view);
    scene.builder.edge(activation, product);
    scene.builder.edge(sum, activation);
    scene.builder.edge(sum, before);
    testing::TensorSpec copy;
    copy.dtype = 6;
    saved_by(scene, product, scene.tensor(10 * kMiB, site, 2 * kMiB, copy));
    scene.saved(30 * kMiB, site, activation);
    before = sum;
  }
  if (output_is_alive) {
    testing::TensorSpec output;
    output.grad_fn = 0x600000000000 + 5 * 512;  // the first layer's sum
    output.output = 0;
    scene.held(scene.tensor(10 * kMiB, in_layer(scene, 0), 0, output), "x", ReferenceRoot::local);
  }
  return scene;
}

TEST(Remedies, CheckpointingKeepsTheInputsOfModules) {
  DeviceScene scene = layers_of_copies();
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::checkpoint);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 126 * kMiB);
  EXPECT_EQ(remedy->inputs, 30 * kMiB);
  EXPECT_EQ(remedy->low, (126 - 42 - 30 - 6) * kMiB);  // one layer comes back, and other blocks have other ends

  DeviceScene alive = layers_of_copies(true);
  EXPECT_EQ(Told(alive).remedy(RemedyKind::checkpoint)->inputs, 20 * kMiB);
}

TEST(Remedies, AnInputOfWhichOnlyAViewIsLeftIsNotTheModules) {
  DeviceScene scene = layers();
  for (int i = 0; i < 3; i++) {
    const uint32_t site = in_layer(scene, i);
    testing::TensorSpec view;
    view.storage_base = scene.block(20 * kMiB, scene.in_module("model", 1));
    view.itemsize = 1;
    view.sizes = {int64_t(20 * kMiB)};
    view.device_type = 1;
    view.device_index = 0;
    view.site = site;
    saved_by(scene, scene.node(site), scene.builder.tensor(view));
  }
  EXPECT_EQ(Told(scene).remedy(RemedyKind::checkpoint)->bytes, 120 * kMiB);
}

TEST(Remedies, CheckpointingPromisesNothingForWhatAVariableHolds) {
  DeviceScene scene;
  scene.segment();
  for (int i = 0; i < 3; i++) {
    const uint32_t site = scene.in_module("model.layers." + std::to_string(i), 10 + i);
    scene.held(scene.saved(40 * kMiB, site, scene.node(site)), "kept[" + std::to_string(i) + "]");
  }
  EXPECT_EQ(Told(scene).remedy(RemedyKind::checkpoint), nullptr);
}

TEST(Remedies, OneModuleThatIsAllOfTheModelIsNotWorthCheckpointing) {
  DeviceScene scene;
  scene.segment();
  const uint32_t site = scene.in_module("model", 10);
  scene.saved(120 * kMiB, site, scene.node(site));
  EXPECT_EQ(Told(scene).remedy(RemedyKind::checkpoint), nullptr);
}

TEST(Remedies, AListOfModulesIsNeverCalled) {
  DeviceScene scene;
  scene.segment();
  for (const char* module : {"model.downs.0", "model.downs.1", "model.ups.0", "model.ups.1"}) {
    const uint32_t site = scene.in_calls({"model", module}, 10);
    scene.saved(50 * kMiB, site, scene.node(site));
  }
  const Told told(scene);
  std::vector<std::string> modules;
  for (const Remedy& remedy : told.analysis.remedies) {
    if (remedy.kind == RemedyKind::checkpoint) modules.push_back(remedy.names.at(0));
  }
  EXPECT_THAT(modules, ::testing::UnorderedElementsAre("model.downs.*", "model.ups.*"));
}

TEST(Remedies, ASmallerBatch) {
  DeviceScene scene = layers();
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::smaller_batch);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->bytes, 75 * kMiB);
  EXPECT_TRUE(remedy->estimate);
  EXPECT_FALSE(remedy->at_most);       // what is unknown or cached may shrink as well
  EXPECT_EQ(remedy->fits, Fits::may);  // 50 MiB would be asked for

  DeviceScene weights;
  weights.segment();
  weights.held(weights.tensor(120 * kMiB), "model.weight", ReferenceRoot::global, format::ReferenceRole::parameter);
  EXPECT_EQ(Told(weights).remedy(RemedyKind::smaller_batch), nullptr);
}

TEST(Remedies, ASmallerBatchMayHalveGradientsOfInputs) {
  for (const bool trained : {false, true}) {
    DeviceScene scene = layers();
    testing::TensorSpec gradient;
    gradient.address = 0x7fff00000000;
    scene.tensor(40 * kMiB, 0, 0, gradient);
    testing::TensorSpec leaf;
    leaf.grad = gradient.address;
    const uint64_t serial = scene.tensor(kMiB, 0, 0, leaf);
    scene.builder.reference({serial, "points", "train.py", "Tensor", ReferenceRoot::global});
    testing::TensorObjectSpec object;
    object.tensor = serial;
    object.references = 1;
    object.state = format::WrapperState::referenced;
    object.trained = trained;
    scene.builder.tensor_object(object);
    const Told told(scene);
    ASSERT_NE(told.remedy(RemedyKind::smaller_batch), nullptr);
    EXPECT_EQ(told.remedy(RemedyKind::smaller_batch)->high >= (75 + 20) * kMiB, !trained);
  }
}

TEST(Remedies, ASmallerBatchWhereAListKeepsOutputs) {
  DeviceScene scene = layers();
  scene.held(scene.tensor(40 * kMiB, scene.in_module("model.layers.0", 12)), "features[0] (local of main)");
  const Told with_outputs(scene);
  EXPECT_EQ(with_outputs.remedy(RemedyKind::smaller_batch)->bytes, 95 * kMiB);
  EXPECT_EQ(with_outputs.remedy(RemedyKind::smaller_batch)->low, 75 * kMiB);
  EXPECT_EQ(with_outputs.remedy(RemedyKind::smaller_batch)->high, 95 * kMiB);

  DeviceScene other = layers();
  other.held(other.tensor(40 * kMiB), "replay[0] (local of main)");
  const Told with_others(other);
  EXPECT_EQ(with_others.remedy(RemedyKind::smaller_batch)->bytes, 75 * kMiB);
  EXPECT_EQ(with_others.remedy(RemedyKind::smaller_batch)->high, 95 * kMiB);
}

TEST(Remedies, AnotherProcess) {
  DeviceScene scene;
  scene.segment().block(kMiB);
  scene.memory.processes = {{991, 300 * kMiB}, {992, UINT64_MAX}};
  const Told told(scene);
  const Remedy* remedy = told.remedy(RemedyKind::other_process);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->pid, 991u);
  EXPECT_EQ(remedy->fits, Fits::yes);

  DeviceScene alone;
  alone.segment().block(kMiB);
  alone.memory.processes = {{992, UINT64_MAX}};
  EXPECT_EQ(Told(alone).remedy(RemedyKind::other_process), nullptr);
}

TEST(Remedies, TheDriverHadEnough) {
  DeviceScene scene;
  scene.segment().block(kMiB);
  scene.memory.driver_free = 500 * kMiB;
  const Told told(scene);
  ASSERT_NE(told.remedy(RemedyKind::process_limit), nullptr);
  EXPECT_EQ(told.remedy(RemedyKind::process_limit)->bytes, 500 * kMiB);
  EXPECT_EQ(told.remedy(RemedyKind::process_limit)->low, 100 * kMiB);  // what was asked for
  scene = DeviceScene();
  scene.segment().block(kMiB);
  EXPECT_EQ(Told(scene).remedy(RemedyKind::process_limit), nullptr);
}

TEST(Remedies, AreSortedAndPromiseNothingWithoutARequest) {
  DeviceScene scene = layers();
  scene.failed = false;
  scene.memory.processes = {{991, 300 * kMiB}};
  const Told told(scene);
  ASSERT_GE(told.analysis.remedies.size(), 3u);
  for (size_t i = 0; i < told.analysis.remedies.size(); i++) {
    EXPECT_EQ(told.analysis.remedies[i].fits, Fits::unknown);
    EXPECT_EQ(told.analysis.remedies[i].missing, 0u);
    const Remedy &one = told.analysis.remedies[i], &before = told.analysis.remedies[i == 0 ? 0 : i - 1];
    EXPECT_GE(rank(one.kind), rank(before.kind));
    if (rank(one.kind) == rank(before.kind)) {
      EXPECT_LE(one.bytes, before.bytes);
    }
  }
}

TEST(Remedies, ChildProcessesOfTheHost) {
  auto told = [](format::MemoryLimit limit) {
    testing::DumpBuilder builder;
    builder.has_references = true;
    builder.children = 4;
    builder.children_resident_bytes = 800 * kMiB;
    testing::FailureSpec failure;
    failure.kind = format::FailureKind::host;
    failure.limit = limit;
    failure.device_type = 0;
    failure.requested = 100 * kMiB;
    failure.limit_bytes = 2000 * kMiB;
    failure.left_bytes = kMiB;
    builder.failure(failure);
    testing::Asked asked(builder);
    const std::vector<View> views = {asked.view()};
    return oom_analysis_of(views, views, {0, -1}).remedies;
  };
  const std::vector<Remedy> remedies = told(format::MemoryLimit::cgroup);
  ASSERT_EQ(remedies.size(), 1u);
  EXPECT_EQ(remedies[0].kind, RemedyKind::child_processes);
  EXPECT_EQ(remedies[0].fits, Fits::may);
  EXPECT_EQ(remedies[0].high, 800 * kMiB);
  EXPECT_EQ(remedies[0].low, 0u);
  EXPECT_TRUE(told(format::MemoryLimit::address_space).empty());
}

TEST(Remedies, OtherProcessesThatHaveMostOfTheLimitComeFirst) {
  auto told = [](format::MemoryLimit limit, uint64_t own, uint64_t children) {
    testing::DumpBuilder builder;
    builder.has_references = true;
    builder.resident_bytes = own;
    builder.heap_free = 300 * kMiB;
    builder.children = children != 0;
    builder.children_resident_bytes = children;
    testing::FailureSpec failure;
    failure.kind = format::FailureKind::low_memory;
    failure.limit = limit;
    failure.device_type = 0;
    failure.requested = 0;
    failure.limit_bytes = 2000 * kMiB;
    failure.left_bytes = 50 * kMiB;
    builder.failure(failure);
    testing::Asked asked(builder);
    const std::vector<View> views = {asked.view()};
    return oom_analysis_of(views, views, {0, -1}).remedies;
  };
  const std::vector<Remedy> remedies = told(format::MemoryLimit::cgroup, 400 * kMiB, 0);
  ASSERT_EQ(remedies.size(), 2u);
  EXPECT_EQ(remedies[0].kind, RemedyKind::shared_limit);
  EXPECT_EQ(remedies[0].bytes, 1550 * kMiB);
  EXPECT_EQ(remedies[1].kind, RemedyKind::malloc_trim);
  // Its own children have most: they come first, and nobody else is blamed.
  const std::vector<Remedy> workers = told(format::MemoryLimit::machine, 400 * kMiB, 1500 * kMiB);
  ASSERT_FALSE(workers.empty());
  EXPECT_EQ(workers[0].kind, RemedyKind::child_processes);
  for (const Remedy& remedy : workers) EXPECT_NE(remedy.kind, RemedyKind::shared_limit);
  // This one has most, or what it has is not known, or it shares the limit with nobody.
  for (const Remedy& remedy : told(format::MemoryLimit::cgroup, 1500 * kMiB, 0)) EXPECT_FALSE(remedy.holds_most);
  for (const Remedy& remedy : told(format::MemoryLimit::cgroup, 0, 0)) EXPECT_FALSE(remedy.holds_most);
  for (const Remedy& remedy : told(format::MemoryLimit::data, 400 * kMiB, 0)) EXPECT_FALSE(remedy.holds_most);
}

TEST(OomAnalysis, IsAboutWhatFailed) {
  testing::DumpBuilder builder;
  EXPECT_TRUE(subject_of(testing::Asked(builder).dump).is_cpu());
  testing::FailureSpec failure;
  failure.device_index = 3;
  builder.failure(failure);
  EXPECT_EQ(subject_of(testing::Asked(builder).dump).text(), "cuda:3");
  failure.kind = format::FailureKind::pinned;
  builder.failure(failure);
  EXPECT_TRUE(subject_of(testing::Asked(builder).dump).is_cpu());
}

TEST(OomAnalysis, WithoutAFailureTheFullestDevice) {
  testing::DumpBuilder builder;
  for (int8_t index : {0, 1}) {
    builder.device_total(format::DeviceTotal(10, 10, 1, 1, 10, 10, 10, 10, 1, index));
    testing::DeviceMemorySpec memory;
    memory.device_index = index;
    memory.driver_total = 100;
    memory.driver_free = index == 0 ? 90 : 10;
    builder.device_memory(memory);
  }
  EXPECT_EQ(subject_of(testing::Asked(builder).dump).text(), "cuda:1");
}

}  // namespace
}  // namespace tensorscope::analyzer::oom
