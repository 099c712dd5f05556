// SPDX-License-Identifier: Apache-2.0
// What memory was for, inferred from stacks and lifetimes where no dump says it.
#include "ownership/memory_category.h"

#include <gtest/gtest.h>

#include "tensorscope/rules/user_code.h"

namespace tensorscope::analyzer {
namespace {

constexpr AllocationLife kStays{}, kFreedAtOnce{true, false, false}, kFreedAfterBackward{true, false, true},
    kFreedNextStep{true, true, true};

Category inferred(uint8_t parts, bool backward, AllocationLife life) {
  return inferred_category(parts, backward, life).category;
}

TEST(InferredCategory, BackwardMemoryThatOutlivesItsStepIsAGradient) {
  EXPECT_EQ(inferred(0, true, kFreedNextStep), Category::gradient);
  EXPECT_EQ(inferred(0, true, kFreedAtOnce), Category::backward_temporary);
  EXPECT_EQ(inferred(0, true, kStays), Category::unknown);  // the recording ends in its step
}

TEST(InferredCategory, WhatACallOfAModuleMadeIsSavedUntilTheBackwardPass) {
  EXPECT_EQ(inferred(code::kModuleCall, false, kFreedAfterBackward), Category::saved_activation);
  EXPECT_EQ(inferred(code::kModuleCall, false, kFreedAtOnce), Category::temporary);
  EXPECT_EQ(inferred(code::kModuleCall, false, kFreedNextStep), Category::unknown);
  EXPECT_EQ(inferred(code::kModuleCall, false, kStays), Category::unknown);
}

TEST(InferredCategory, OptimizersModulesAndDataLoading) {
  EXPECT_EQ(inferred(code::kOptimizer, false, kFreedNextStep), Category::optimizer_state);
  EXPECT_EQ(inferred(code::kOptimizer, false, kFreedAtOnce), Category::temporary);
  EXPECT_EQ(inferred(code::kModuleCode, false, kStays), Category::parameter);
  EXPECT_EQ(inferred(code::kModuleCode, false, kFreedNextStep),
            Category::parameter);  // with a model that a function held
  EXPECT_EQ(inferred(code::kModuleCode, false, kFreedAtOnce), Category::unknown);
  EXPECT_EQ(inferred(code::kDataLoading | code::kModuleCall, false, kStays), Category::input_batch);
  EXPECT_EQ(inferred(0, false, kFreedAtOnce), Category::unknown);
}

TEST(InferredCategory, IsMarkedAndSaysWhy) {
  const MemoryCategory found = inferred_category(0, true, kFreedNextStep);
  EXPECT_EQ(found.source, CategorySource::inferred);
  EXPECT_STREQ(found.why, "made in a backward pass, alive after its step");
  EXPECT_EQ(inferred_category(0, false, kStays).source, CategorySource::unknown);
}

}  // namespace
}  // namespace tensorscope::analyzer
