// SPDX-License-Identifier: Apache-2.0
// A thread's chain of Python frames in a test's own memory.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "fake_python.h"
#include "stacks/python/placed_frames.h"

namespace tensorscope::stacks {

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
    if (frame == nullptr) frame = python.object(kFrameBytes);
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
  static constexpr size_t kFrameBytes = 512;
  char* holder_;
  size_t link_;
};

// Five frames of one code object, in each layout.
class FiveFrames : public testing::TestWithParam<const PythonLayout*> {
 protected:
  void SetUp() override {
    for (int i = 0; i < 5; ++i) frames.push_back(chain.call(code, 2 * i));
    places.resize(100);
    places.resize(list_frames(chain.layout, chain.innermost(), places.data(), places.size()));
  }
  static constexpr uint64_t kSeed = 7;  // of hashes
  uint64_t hash() { return hash_placed_frames(chain.layout, chain.innermost(), places.data(), places.size(), kSeed); }

  Chain chain{*GetParam()};
  char* code = chain.python.code("a.py", "f", 1);
  std::vector<char*> frames;
  std::vector<FramePlace> places;
};

}  // namespace tensorscope::stacks
