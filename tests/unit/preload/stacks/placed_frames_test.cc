#include "stacks/python/placed_frames.h"

#include <gtest/gtest.h>

#include <vector>

#include "fake_python.h"
#include "stacks/python/remembered_stacks.h"

namespace tensorscope::stacks {
namespace {

constexpr size_t kPlacedFrameBytes = 512;
constexpr uint64_t kSeed = 7;

// A chain of frames, the outermost first: each new one is the innermost.
class Chain {
 public:
  explicit Chain(const PythonLayout& layout) : layout(layout), python(layout), thread(python.object(256)) {
    holder_ = thread;
    link_ = layout.thread_frame;
    if (layout.cframe_frame >= 0) {
      holder_ = python.object(64);
      FakePython::put(thread, layout.thread_frame, holder_);
      link_ = size_t(layout.cframe_frame);
    }
  }
  char* call(char* code, int32_t offset, char* frame = nullptr) {
    if (frame == nullptr) frame = python.object(kPlacedFrameBytes);
    FakePython::put(frame, layout.frame_code, code);
    move(frame, code, offset);
    FakePython::put(frame, layout.frame_previous, innermost());
    FakePython::put(holder_, link_, frame);
    return frame;
  }
  void move(char* frame, char* code, int32_t offset) {
    if (layout.instruction_unit != 0) {
      FakePython::put(frame, layout.frame_instruction, offset / layout.instruction_unit);
    } else {
      FakePython::put(frame, layout.frame_instruction, code + layout.code_bytecode + offset);
    }
  }
  void leave() { FakePython::put(holder_, link_, read_field<char*>(innermost(), layout.frame_previous)); }
  const char* innermost() const { return innermost_frame(layout, thread); }

  const PythonLayout& layout;
  FakePython python;
  char* thread;

 private:
  char* holder_;
  size_t link_;
};

class PlacedFramesTest : public testing::TestWithParam<const PythonLayout*> {
 protected:
  void SetUp() override {
    for (int i = 0; i < 5; ++i) frames.push_back(chain.call(code, 2 * i));
    places.resize(100);
    places.resize(list_frames(chain.layout, chain.innermost(), places.data(), places.size()));
  }
  uint64_t hash() { return hash_placed_frames(chain.layout, chain.innermost(), places.data(), places.size(), kSeed); }

  Chain chain{*GetParam()};
  char* code = chain.python.code("a.py", "f", 1);
  std::vector<char*> frames;
  std::vector<FramePlace> places;
};

INSTANTIATE_TEST_SUITE_P(Layouts, PlacedFramesTest, testing::Values(&kCpython38, &kCpython311, &kCpython312));

TEST_P(PlacedFramesTest, ListsEachFrameInnermostFirst) {
  ASSERT_EQ(places.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(places[i], reinterpret_cast<FramePlace>(frames[4 - i]));
  EXPECT_EQ(list_frames(chain.layout, chain.innermost(), places.data(), 4), 0u);
}

TEST_P(PlacedFramesTest, TheHashTellsCodeAndPositionOfEachFrame) {
  const uint64_t all = hash();
  EXPECT_NE(all, 0u);
  EXPECT_EQ(hash(), all);
  EXPECT_NE(hash_placed_frames(chain.layout, chain.innermost(), places.data(), places.size(), kSeed + 1), all);
  char* const other = chain.python.code("b.py", "g", 1);
  for (int i = 0; i < 5; ++i) {
    FakePython::put(frames[i], chain.layout.frame_code, other);
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
  const uint64_t before = hash_placed_frames(chain.layout, chain.innermost(), &place, 1, kSeed);
  FakePython::put(frame, chain.layout.frame_owner, uint8_t{1});
  EXPECT_NE(hash_placed_frames(chain.layout, chain.innermost(), &place, 1, kSeed), before);
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

// ---- Remembered stacks
// ------------------------------------------------------------------------------------------------

class RememberedStacksTest : public PlacedFramesTest {
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
