// SPDX-License-Identifier: Apache-2.0
#include "python/text_pool.h"

#include <gtest/gtest.h>

#include <string>

#include "support/enough_memory.h"

namespace tensorscope::python {
namespace {

TEST(TextPool, KeepsEachTextOnce) {
  TextPool texts;
  EXPECT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0], "");
  EXPECT_EQ(texts.intern(""), 0u);
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 1; i <= 20'000; ++i) ASSERT_EQ(texts.intern("text " + std::to_string(i)), i);
  }
  EXPECT_EQ(texts.size(), 20'001u);
  EXPECT_EQ(texts[1], "text 1");
  EXPECT_EQ(texts[20'000], "text 20000");
  EXPECT_STREQ(texts[7].data(), "text 7");
  EXPECT_EQ(texts[20'001], "");
}

TEST(TextPool, SaysWhenThereIsNoMoreRoomAndKeepsWhatItHas) {
  const MemoryLimit limit(uint64_t{1} << 20);
  TextPool texts;
  uint32_t last = 0;
  for (uint32_t i = 1; !texts.full(); ++i) {
    if (const uint32_t number = texts.intern(std::to_string(i) + std::string(100, 'x'))) last = number;
    ASSERT_LT(i, 20'000u);
  }
  EXPECT_EQ(texts.intern("another"), 0u);
  EXPECT_EQ(texts.size(), last + 1);
  EXPECT_EQ(texts[last], std::to_string(last) + std::string(100, 'x'));
}

}  // namespace
}  // namespace tensorscope::python
