// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "fake_python.h"

namespace tensorscope::stacks {
namespace {

constexpr size_t kFrameBytes = 512;

// A chain of frames, the innermost first, hung into a thread state.
class PythonWalkTest : public testing::Test {
 protected:
  void start(const PythonLayout& layout) {
    layout_ = &layout;
    python_ = std::make_unique<FakePython>(layout);
    thread_ = python_->object(256);
    char* holder = thread_;
    link_ = layout.thread_frame;
    if (layout.cframe_frame >= 0) {
      holder = python_->object(64);
      FakePython::put(thread_, layout.thread_frame, holder);
      link_ = size_t(layout.cframe_frame);
    }
    last_ = holder;
  }
  char* frame(char* code) {
    char* result = python_->object(kFrameBytes);
    FakePython::put(result, layout_->frame_code, code);
    FakePython::put(last_, link_, result);
    last_ = result;
    link_ = layout_->frame_previous;
    return result;
  }
  char* frame_at(char* code, int32_t offset) {
    char* result = frame(code);
    if (layout_->instruction_unit != 0) {
      FakePython::put(result, layout_->frame_instruction, offset / layout_->instruction_unit);
    } else {
      FakePython::put(result, layout_->frame_instruction, code + layout_->code_bytecode + offset);
    }
    return result;
  }
  void own(char* frame, uint8_t owner) { FakePython::put(frame, layout_->frame_owner, owner); }
  size_t walk(size_t limit = 100) {
    walked_.resize(limit);
    size_t count = walk_frames(*layout_, thread_, walked_.data(), limit, more_);
    walked_.resize(count);
    return count;
  }

  const PythonLayout* layout_ = nullptr;
  std::unique_ptr<FakePython> python_;
  char *thread_ = nullptr, *last_ = nullptr;
  size_t link_ = 0;
  std::vector<RawFrame> walked_;
  bool more_ = false;
};

TEST_F(PythonWalkTest, FindsNoFrames) {
  for (const PythonLayout* layout : {&kCpython38, &kCpython311, &kCpython312}) {
    start(*layout);
    EXPECT_EQ(walk(), 0u);
    EXPECT_FALSE(more_);
  }
}

TEST_F(PythonWalkTest, EveryFrameObjectIsANativeCall) {
  for (const PythonLayout* layout : {&kCpython39, &kCpython310}) {
    start(*layout);
    char *inner = python_->code("a.py", "inner", 1), *outer = python_->code("a.py", "outer", 9);
    frame_at(inner, 6);
    frame_at(outer, 40);
    ASSERT_EQ(walk(), 2u);
    EXPECT_EQ(walked_[0].code, inner);
    EXPECT_EQ(walked_[0].offset(*layout), 6);
    EXPECT_EQ(walked_[1].code, outer);
    EXPECT_EQ(walked_[1].offset(*layout), 40);
    EXPECT_TRUE(walked_[0].entry() && walked_[1].entry());
  }
}

TEST_F(PythonWalkTest, ReadsTheEntryFlag) {
  start(kCpython311);
  char* code = python_->code("a.py", "f", 1);
  own(frame_at(code, 10), 0);
  own(frame_at(code, 12), 1);
  own(frame_at(code, 14), 0);
  own(frame_at(code, 16), 1);
  ASSERT_EQ(walk(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(walked_[i].entry(), i % 2 == 1);
    EXPECT_EQ(walked_[i].offset(kCpython311), int(10 + 2 * i));
  }
}

TEST_F(PythonWalkTest, AShimEndsANativeCall) {
  start(kCpython312);
  char* code = python_->code("a.py", "f", 1);
  own(frame(nullptr), 3);  // innermost: about to call Python
  frame_at(code, 2);
  own(frame_at(code, 4), 1);  // a generator's
  own(frame(nullptr), 3);
  own(frame(nullptr), 4);
  frame_at(code, 6);
  own(frame(nullptr), 3);
  ASSERT_EQ(walk(), 3u);
  EXPECT_FALSE(walked_[0].entry());
  EXPECT_TRUE(walked_[1].entry());
  EXPECT_TRUE(walked_[2].entry());
  EXPECT_EQ(walked_[1].offset(kCpython312), 4);
}

TEST_F(PythonWalkTest, TakesTheTagOffAReference) {
  start(kCpython312);
  char* code = python_->code("a.py", "f", 1);
  FakePython::put(frame_at(code, 2), kCpython312.frame_code, code + 1);
  ASSERT_EQ(walk(), 1u);
  EXPECT_EQ(walked_[0].code, code);
}

TEST_F(PythonWalkTest, StopsAtTheLimit) {
  for (const PythonLayout* layout : {&kCpython38, &kCpython311, &kCpython312}) {
    start(*layout);
    char* code = python_->code("a.py", "f", 1);
    for (int i = 0; i < 10; ++i) frame_at(code, 2 * i);
    if (layout == &kCpython312) own(frame(nullptr), 3);
    EXPECT_EQ(walk(9), 9u);
    EXPECT_TRUE(more_);
    EXPECT_EQ(walk(10), 10u);
    EXPECT_FALSE(more_);
    EXPECT_TRUE(walked_[9].entry());
  }
}

TEST_F(PythonWalkTest, AFrameThatHasNotBegunHasANegativeOffset) {
  start(kCpython311);
  frame_at(python_->code("a.py", "f", 1), -2);
  start(kCpython38);
  frame_at(python_->code("a.py", "f", 1), -1);
  ASSERT_EQ(walk(), 1u);
  EXPECT_LT(walked_[0].offset(kCpython38), 0);
}

TEST_F(PythonWalkTest, TheHashTellsWhatTheWalkTells) {
  for (const PythonLayout* layout : {&kCpython38, &kCpython311, &kCpython312}) {
    start(*layout);
    char *code = python_->code("a.py", "f", 1), *call = python_->code("a.py", "_call_impl", 1);
    std::vector<char*> frames;
    for (int i = 0; i < 5; ++i) frames.push_back(frame_at(i == 2 ? call : code, 2 * i));
    ModuleCalls calls;
    ASSERT_TRUE(calls.add(call));
    std::set<uint64_t> seen;
    const auto differs = [&](size_t depth = 5) {
      const HashedFrames hashed = hash_frames(*layout, thread_, 7, calls, 100);
      EXPECT_EQ(hashed.depth, depth);
      EXPECT_EQ(walk(), depth);
      const auto entry = std::find_if(walked_.begin(), walked_.end(), [](const RawFrame& raw) { return raw.entry(); });
      EXPECT_EQ(hashed.entry, entry->frame);
      EXPECT_EQ(hashed.entry_code, entry->code);
      EXPECT_EQ(hash_frames(*layout, thread_, 7, calls, 100).hash, hashed.hash);
      EXPECT_NE(hash_frames(*layout, thread_, 8, calls, 100).hash, hashed.hash);
      EXPECT_EQ(hash_frames(*layout, thread_, 7, calls, depth - 1).depth, 0u);
      return seen.insert(hashed.hash).second;
    };
    EXPECT_TRUE(differs());
    EXPECT_FALSE(differs());
    for (size_t i = 0; i < frames.size(); ++i) {
      char* const other = python_->code("b.py", "g", 1);
      EXPECT_FALSE(differs()) << i;
      FakePython::put(frames[i], layout->frame_code, other);
      EXPECT_TRUE(differs()) << i;
      FakePython::put(frames[i], layout->frame_code, i == 2 ? call : code);
      int32_t position;
      std::memcpy(&position, frames[i] + layout->frame_instruction, sizeof position);
      FakePython::put(frames[i], layout->frame_instruction, position + 2);
      EXPECT_TRUE(differs()) << i;
      FakePython::put(frames[i], layout->frame_instruction, position);
      // `self` counts where a module is called.
      char* const self = python_->object(32);
      FakePython::put(frames[i], layout->frame_locals, self);
      EXPECT_EQ(differs(), i == 2) << i;
    }
    if (layout == &kCpython311) {
      own(frames[1], 1);
      EXPECT_TRUE(differs());
    }
    frame_at(code, 2);
    EXPECT_TRUE(differs(6));
    if (layout->style == FrameStyle::shims) {
      own(frame(nullptr), layout->first_shim_owner);
      EXPECT_FALSE(differs(6));
      frame_at(code, 2);
      EXPECT_TRUE(differs(7));
    }
  }
}

TEST(ModuleCalls, ThereAreFew) {
  ModuleCalls calls;
  char codes[ModuleCalls::kMax + 1][16];
  for (uint32_t i = 0; i < ModuleCalls::kMax; ++i) {
    EXPECT_FALSE(calls.hold(codes[i]));
    EXPECT_TRUE(calls.add(codes[i]));
    EXPECT_TRUE(calls.hold(codes[i]) && calls.add(codes[i]));
  }
  EXPECT_FALSE(calls.add(codes[ModuleCalls::kMax]));
  EXPECT_EQ(calls.count(), ModuleCalls::kMax);
}

TEST_F(PythonWalkTest, FindsSelf) {
  start(kCpython312);
  char *module = python_->object(32), *cell = python_->object(32), *cell_type = python_->object(8);
  FakePython::put(cell, 8, cell_type);
  FakePython::put(cell, 16, module);
  char* running = frame_at(python_->code("a.py", "f", 1), 2);
  EXPECT_EQ(first_local(kCpython312, running, cell_type), nullptr);
  FakePython::put(running, kCpython312.frame_locals, module + 1);
  EXPECT_EQ(first_local(kCpython312, running, cell_type), module);
  FakePython::put(running, kCpython312.frame_locals, cell);
  EXPECT_EQ(first_local(kCpython312, running, cell_type), module);
  EXPECT_EQ(first_local(kCpython312, running, nullptr), cell);
}

}  // namespace
}  // namespace tensorscope::stacks
