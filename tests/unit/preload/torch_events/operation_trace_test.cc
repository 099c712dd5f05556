// SPDX-License-Identifier: Apache-2.0
#include "torch_events/operation_trace.h"

#include <gtest/gtest.h>
#include <string.h>

#include <cstdint>
#include <vector>

namespace tensorscope::torch_events {
namespace {

constexpr int kWords = 64, kInputsAt = 5, kOutputsAt = 20;

// A RecordFunction of a torch of our own, in a process of which only it and its values can be read.
struct World {
  uint64_t record[kWords + 128] = {};
  std::vector<Value> inputs, outputs;
  uint64_t tensor = 0x1000;
};
World* g_world = nullptr;

bool inside(uint64_t address, size_t size, const void* begin, size_t bytes) {
  const auto first = reinterpret_cast<uint64_t>(begin);
  return address >= first && address + size <= first + bytes;
}

bool read_world(uint64_t address, void* out, size_t size) {
  World& world = *g_world;
  const bool readable = inside(address, size, world.record, sizeof world.record) ||
                        inside(address, size, world.inputs.data(), world.inputs.size() * sizeof(Value)) ||
                        inside(address, size, world.outputs.data(), world.outputs.size() * sizeof(Value));
  if (readable) memcpy(out, reinterpret_cast<const void*>(address), size);
  return readable;
}

bool is_tensor(uint64_t impl) { return impl == g_world->tensor; }

constexpr TraceWorld kWorld = {read_world, is_tensor};

class TraceLayout : public testing::Test {
 protected:
  void SetUp() override { g_world = &world_; }

  void run(size_t inputs, size_t outputs) {
    world_.inputs.assign(inputs, {7, 5, 0});
    world_.outputs.assign(outputs, {7, 5, 0});
    world_.inputs[0] = {world_.tensor, kTensorTag, 0};
    world_.outputs[0] = {world_.tensor, kTensorTag, 0};
    world_.record[kInputsAt] = reinterpret_cast<uint64_t>(world_.inputs.data());
    world_.record[kInputsAt + 1] = inputs;
    world_.record[kOutputsAt] = reinterpret_cast<uint64_t>(world_.outputs.data());
    world_.record[kOutputsAt + 1] = world_.record[kOutputsAt + 2] = world_.record[kOutputsAt] + outputs * sizeof(Value);
    found_inputs_ = finder_.add_inputs(world_.record, inputs);
    found_outputs_ = finder_.add_outputs(world_.record, outputs);
  }

  void put_inputs_also_at(int at) {
    world_.record[at] = reinterpret_cast<uint64_t>(world_.inputs.data());
    world_.record[at + 1] = world_.inputs.size();
  }

  World world_;
  TraceLayoutFinder finder_{kWorld};
  int found_inputs_ = 0, found_outputs_ = 0;
};

TEST_F(TraceLayout, is_found_after_some_operations) {
  run(2, 1);
  EXPECT_FALSE(finder_.result().known());
  for (size_t i = 1; i < 5; ++i) run(1 + i % 3, 1 + i % 2);
  const auto layout = finder_.result();
  EXPECT_EQ(layout.inputs, kInputsAt * 8);
  EXPECT_EQ(layout.outputs, kOutputsAt * 8);
  EXPECT_FALSE(finder_.gave_up());
}

TEST_F(TraceLayout, two_places_that_agree_are_none) {
  for (int i = 0; i < 100; ++i) {
    world_.inputs.assign(2, {world_.tensor, kTensorTag, 0});
    for (int at : {kInputsAt, kInputsAt + 10}) put_inputs_also_at(at);
    EXPECT_EQ(finder_.add_inputs(world_.record, 2), 0);
  }
  EXPECT_FALSE(finder_.result().known());
  EXPECT_TRUE(finder_.gave_up());
}

TEST_F(TraceLayout, values_that_are_no_live_tensors_do_not_count) {
  run(2, 1);
  world_.tensor = 0x2000;
  for (int i = 0; i < 10; ++i) {
    finder_.add_inputs(world_.record, 2);
    finder_.add_outputs(world_.record, 1);
  }
  EXPECT_FALSE(finder_.result().known());
}

TEST_F(TraceLayout, the_first_operation_is_followed_where_one_place_agrees) {
  run(2, 1);
  EXPECT_EQ(found_inputs_, kInputsAt * 8);
  EXPECT_EQ(found_outputs_, kOutputsAt * 8);
}

TEST_F(TraceLayout, an_operation_without_tensors_is_followed_where_one_place_agrees) {
  world_.inputs.assign(3, {7, 5, 0});
  put_inputs_also_at(kInputsAt);
  EXPECT_EQ(finder_.add_inputs(world_.record, 3), kInputsAt * 8);
  put_inputs_also_at(kInputsAt + 10);
  EXPECT_EQ(finder_.add_inputs(world_.record, 3), 0) << "two places";
  world_.inputs.assign(3, {7, 1000, 0});
  EXPECT_EQ(finder_.add_inputs(world_.record, 3), 0) << "nothing that could be values";
}

TEST_F(TraceLayout, a_place_that_an_operation_ruled_out_is_not_asked_again) {
  run(3, 1);
  world_.inputs.assign(2, {world_.tensor, kTensorTag, 0});
  put_inputs_also_at(kInputsAt + 10);
  world_.record[kInputsAt + 1] = 2;
  EXPECT_EQ(finder_.add_inputs(world_.record, 2), kInputsAt * 8);
}

TEST(OperationTrace, overloads_that_write_into_arguments) {
  for (const char* name : {"out", "Tensor_out", "out_mode", "dim_values_out", "int_out_x"})
    EXPECT_TRUE(is_out_overload(name)) << name;
  for (const char* name : {"", "Tensor", "dtype_layout", "layout", "output", "without"})
    EXPECT_FALSE(is_out_overload(name)) << name;
}

}  // namespace
}  // namespace tensorscope::torch_events
