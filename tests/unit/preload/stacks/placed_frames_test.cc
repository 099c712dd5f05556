// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/placed_frames.h"

#include <gtest/gtest.h>

#include "fake_frames.h"

namespace tensorscope::stacks {
namespace {

using PlacedFramesTest = FiveFrames;

INSTANTIATE_TEST_SUITE_P(Layouts, PlacedFramesTest, testing::Values(&kCpython38, &kCpython311, &kCpython312));

TEST_P(PlacedFramesTest, ListsEachFrameInnermostFirst) {
  ASSERT_EQ(places.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(places[i], reinterpret_cast<FramePlace>(frames[4 - i]));
  EXPECT_EQ(list_frames(chain.layout, chain.innermost(), places.data(), 4), 0u);
}

// An instruction's address tells which code object it is in; an offset does not.
TEST_P(PlacedFramesTest, TheHashTellsCodeAndPositionOfEachFrame) {
  const uint64_t all = hash();
  EXPECT_NE(all, 0u);
  EXPECT_EQ(hash(), all);
  EXPECT_NE(hash_placed_frames(chain.layout, chain.innermost(), places.data(), places.size(), kSeed + 1), all);
  char* const other = chain.python.code("b.py", "g", 1);
  for (int i = 0; i < 5; ++i) {
    FakePython::put(frames[i], chain.layout.frame_code, other);
    chain.move(frames[i], other, 2 * i);
    EXPECT_NE(hash(), all) << i;
    FakePython::put(frames[i], chain.layout.frame_code, code);
    chain.move(frames[i], code, 100);
    EXPECT_NE(hash(), all) << i;
    chain.move(frames[i], code, 2 * i);
    EXPECT_EQ(hash(), all) << i;
  }
}

TEST(PlacedFrames, AFlagOfTheFrameCounts) {
  Chain chain(kCpython311);
  char* const frame = chain.call(chain.python.code("a.py", "f", 1), 2);
  const auto place = reinterpret_cast<FramePlace>(frame);
  const uint64_t before = hash_placed_frames(chain.layout, chain.innermost(), &place, 1, 7);
  FakePython::put(frame, chain.layout.frame_owner, uint8_t{1});
  EXPECT_NE(hash_placed_frames(chain.layout, chain.innermost(), &place, 1, 7), before);
}

TEST_P(PlacedFramesTest, FramesElsewhereHaveNoHash) {
  char* const more = chain.call(code, 2);
  EXPECT_EQ(hash(), 0u);
  chain.leave();
  EXPECT_NE(hash(), 0u);
  chain.leave();
  EXPECT_EQ(hash(), 0u);
  chain.call(code, 8, more);
  EXPECT_EQ(hash(), 0u);
}

// The frame behind the first one is gone, and its memory too.
TEST_P(PlacedFramesTest, AFrameToWhichNothingLeadsIsNotRead) {
  FakePython::put(frames[4], chain.layout.frame_previous, static_cast<char*>(nullptr));
  for (size_t i = 1; i < places.size(); ++i) places[i] = 8;
  EXPECT_EQ(hash(), 0u);
}

TEST_P(PlacedFramesTest, CallsHaveTheirSelf) {
  char *module = chain.python.object(64), *other = chain.python.object(64), *cell = chain.python.object(64),
       *cell_type = chain.python.object(8);
  FakePython::put(cell, kTypeOffset, cell_type);
  FakePython::put(cell, kCellContentOffset, module);
  char* const wrapper = chain.python.code("module.py", "_call_impl", 1);
  for (const int i : {1, 3}) FakePython::put(frames[i], chain.layout.frame_code, wrapper);
  FakePython::put(frames[1], chain.layout.frame_locals, module);
  FakePython::put(frames[3], chain.layout.frame_locals, cell);
  ModuleCalls calls;
  calls.cell_type = cell_type;
  ASSERT_TRUE(calls.add(wrapper));
  FramePlace words[8];
  ASSERT_EQ(list_calls(chain.layout, calls, places.data(), places.size(), words, 8), 4u);
  EXPECT_GT(list_calls(chain.layout, calls, places.data(), places.size(), words, 3), 3u);
  EXPECT_TRUE(calls_are_as_placed(words, 4));
  FakePython::put(cell, kCellContentOffset, other);
  EXPECT_FALSE(calls_are_as_placed(words, 4));
  FakePython::put(cell, kCellContentOffset, module);
  FakePython::put(frames[1], chain.layout.frame_locals, other);
  EXPECT_FALSE(calls_are_as_placed(words, 4));
}

}  // namespace
}  // namespace tensorscope::stacks
