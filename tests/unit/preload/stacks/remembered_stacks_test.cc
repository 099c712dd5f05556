// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/remembered_stacks.h"

#include <gtest/gtest.h>

#include <memory>

#include "fake_frames.h"

namespace tensorscope::stacks {
namespace {

class RememberedStacksTest : public FiveFrames {
 protected:
  RememberedStacks::Present present() {
    hashed_ = hash_frames(chain.layout, chain.thread, kSeed, calls, 100);
    return {hashed_, chain.layout, chain.innermost(), kSeed, calls};
  }
  StackId next(uint64_t generation = kSeed) {
    const auto* found = stacks->find_next(chain.layout, chain.innermost(), generation);
    return found == nullptr ? 0 : found->node;
  }
  StackId found() {
    const auto* stack = stacks->find(present());
    return stack == nullptr ? 0 : stack->node;
  }
  void stand(int32_t offset) { chain.move(frames[4], code, offset); }

  ModuleCalls calls;
  std::unique_ptr<RememberedStacks> stacks{new RememberedStacks()};

 private:
  HashedFrames hashed_;
};

INSTANTIATE_TEST_SUITE_P(Layouts, RememberedStacksTest, testing::Values(&kCpython38, &kCpython311, &kCpython312));

TEST_P(RememberedStacksTest, NothingIsKnownAtFirst) {
  EXPECT_EQ(next(), 0u);
  EXPECT_EQ(found(), 0u);
  const char* const none = nullptr;
  EXPECT_EQ(stacks->find_next(chain.layout, none, kSeed), nullptr);
}

TEST_P(RememberedStacksTest, ALoopHasItsStacksInTheSameOrder) {
  for (StackId i = 1; i <= 3; ++i) {
    stand(int32_t(10 * i));
    EXPECT_EQ(next(), 0u);
    stacks->add(present(), i, 40 + i);
  }
  stand(10);
  EXPECT_EQ(found(), 1u);  // the first that comes a second time
  for (int turn = 0; turn < 3; ++turn) {
    for (StackId i = 1; i <= 3; ++i) {
      stand(int32_t(10 * i));
      for (int again = 0; again < 2; ++again) {
        const auto* stack = stacks->find_next(chain.layout, chain.innermost(), kSeed);
        ASSERT_NE(stack, nullptr) << turn << " " << i;
        EXPECT_EQ(stack->node, i);
        EXPECT_EQ(stack->activation.caller, 40 + i);
        EXPECT_EQ(stack->activation.frame, present().frames.entry);
      }
    }
  }
}

TEST_P(RememberedStacksTest, AnotherOrderIsFoundByHash) {
  for (StackId i = 1; i <= 3; ++i) {
    stand(int32_t(10 * i));
    stacks->add(present(), i, 0);
  }
  for (const StackId i : {2, 1, 3, 1}) {
    stand(int32_t(10 * i));
    EXPECT_EQ(next(), 0u);
    EXPECT_EQ(found(), i);
  }
}

TEST_P(RememberedStacksTest, CodeObjectsOfAnotherGenerationAreOthers) {
  stacks->add(present(), 1, 0);
  EXPECT_EQ(next(), 1u);
  EXPECT_EQ(next(kSeed + 1), 0u);
}

TEST_P(RememberedStacksTest, FramesThatMovedAreKnownAtTheirNewPlaceAfterAWhile) {
  stacks->add(present(), 1, 0);
  chain.leave();
  char* const moved = chain.call(code, 8);
  int times = 0;
  while (next() == 0 && times < 100) {
    EXPECT_EQ(found(), 1u);
    ++times;
  }
  EXPECT_GT(times, 1);
  EXPECT_LT(times, 100);
  EXPECT_EQ(next(), 1u);
  chain.leave();
  chain.call(code, 8, frames[4]);
  EXPECT_EQ(next(), 0u);
  EXPECT_NE(moved, frames[4]);
}

TEST_P(RememberedStacksTest, ThereAreMoreStacksThanPlaces) {
  for (StackId i = 1; i <= 20'000; ++i) {
    stand(int32_t(2 * i));
    stacks->add(present(), i, 0);
    ASSERT_EQ(next(), i);
    ASSERT_EQ(found(), i);
  }
}

}  // namespace
}  // namespace tensorscope::stacks
