// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tensorscope::stacks {
namespace {

constexpr uint64_t k3130 = 0x030d00f0, k31410 = 0x030e0af0, k3152 = 0x030f02f0;

// _Py_DebugOffsets as the three interpreters have it, up to the code object's section.
std::vector<uint64_t> debug_offsets(uint64_t version, size_t interpreter_words, size_t frame_words,
                                    size_t thread_words = 9) {
  std::vector<uint64_t> words(64);
  std::memcpy(words.data(), "xdebugpy", 8);
  words[1] = version;
  size_t at = 6 + interpreter_words;
  const uint64_t thread[] = {0, 0, 8, 16, 72};
  std::copy(std::begin(thread), std::end(thread), words.begin() + ptrdiff_t(at));
  at += thread_words;
  const bool old = version == k3130;
  const uint64_t frame[] = {88, 8, 0, 56, old ? 72u : 80u, old ? 70u : 74u, 64};
  std::copy(std::begin(frame), std::end(frame), words.begin() + ptrdiff_t(at));
  at += frame_words;
  const uint64_t code[] = {208, 112, 120, 128, 136, 68, 52, 96, 104, 200};
  std::copy(std::begin(code), std::end(code), words.begin() + ptrdiff_t(at));
  return words;
}

TEST(PythonLayoutTest, KnowsTheSeriesWithFixedOffsets) {
  for (uint64_t version : {0x030812f0, 0x030912f0, 0x030a0df0, 0x030b07f0, 0x030c01f0}) {
    PythonLayout layout{};
    EXPECT_TRUE(choose_layout(version, nullptr, layout)) << std::hex << version;
    EXPECT_NE(layout.code_filename, 0);
  }
}

TEST(PythonLayoutTest, ReadsTheOffsetsThatAnInterpreterTells) {
  PythonLayout layout{};
  ASSERT_TRUE(choose_layout(k3130, debug_offsets(k3130, 13, 6).data(), layout));
  EXPECT_EQ(layout.thread_frame, 72);
  EXPECT_EQ(layout.frame_locals, 72);
  EXPECT_EQ(layout.frame_owner, 70);
  EXPECT_EQ(layout.code_bytecode, 200);
  ASSERT_TRUE(choose_layout(k31410, debug_offsets(k31410, 16, 8).data(), layout));
  EXPECT_EQ(layout.frame_locals, 80);
  EXPECT_EQ(layout.frame_owner, 74);
  EXPECT_EQ(layout.code_filename, 112);
  EXPECT_EQ(layout.code_line_table, 136);
  EXPECT_EQ(layout.frame_values_end, 64);
  EXPECT_EQ(layout.type_shared_keys, 880);
  constexpr size_t kWithExceptions = 17;  // thread_state and err_stackitem
  ASSERT_TRUE(choose_layout(k3152, debug_offsets(k3152, 16, 8, kWithExceptions).data(), layout));
  EXPECT_EQ(layout.thread_frame, 72);
  EXPECT_EQ(layout.frame_previous, 8);
  EXPECT_EQ(layout.frame_locals, 80);
  EXPECT_EQ(layout.code_bytecode, 200);
  EXPECT_EQ(layout.type_shared_keys, 888);
}

TEST(PythonLayoutTest, WhatNamesNeedIsThereInEachSeries) {
  for (uint64_t version : {0x030812f0, 0x030912f0, 0x030a0df0, 0x030b07f0, 0x030c01f0}) {
    PythonLayout layout{};
    ASSERT_TRUE(choose_layout(version, nullptr, layout));
    const bool values = version >= 0x030b0000;
    EXPECT_EQ(layout.instance_values != InstanceValues::none, values) << std::hex << version;
    EXPECT_EQ(layout.type_shared_keys != 0, values);
    EXPECT_EQ(layout.instance_dict != 0, values);
    EXPECT_EQ(layout.frame_object_frame != 0, values);
    EXPECT_EQ(layout.values_end != ValuesEnd::unknown, values);
  }
}

TEST(PythonLayoutTest, IsChangedForTests) {
  set_layout_change_for_test([](PythonLayout& layout) { layout.frame_code += 8; });
  PythonLayout layout{};
  ASSERT_TRUE(choose_layout(0x030c01f0, nullptr, layout));
  set_layout_change_for_test(nullptr);
  EXPECT_EQ(layout.frame_code, kCpython312.frame_code + 8);
}

TEST(PythonLayoutTest, RefusesWhatItDoesNotKnow) {
  PythonLayout layout{};
  for (uint64_t version : {0x030710f0, 0x031000a1, 0x04000000, 0x020712f0}) {
    EXPECT_FALSE(choose_layout(version, debug_offsets(version, 16, 8).data(), layout)) << std::hex << version;
  }
}

TEST(PythonLayoutTest, RefusesOffsetsThatCannotBe) {
  PythonLayout layout{};
  EXPECT_FALSE(choose_layout(k3130, nullptr, layout));
  auto words = debug_offsets(k3130, 13, 6);
  words[0] ^= 1;
  EXPECT_FALSE(choose_layout(k3130, words.data(), layout)) << "no cookie";
  EXPECT_FALSE(choose_layout(k3130, debug_offsets(k31410, 16, 8).data(), layout)) << "another version";
  words = debug_offsets(k3130, 13, 6);
  words[2] = 1;
  EXPECT_FALSE(choose_layout(k3130, words.data(), layout)) << "free-threaded";
  words = debug_offsets(k3130, 13, 6);
  words[6 + 13 + 9 + 3] = 1 << 20;
  EXPECT_FALSE(choose_layout(k3130, words.data(), layout)) << "a frame of a megabyte";
}

}  // namespace
}  // namespace tensorscope::stacks
