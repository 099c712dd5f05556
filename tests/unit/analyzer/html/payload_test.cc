// SPDX-License-Identifier: Apache-2.0
#include "html/payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "packed.h"

namespace tensorscope::html {
namespace {

using ::testing::ElementsAre;

TEST(Payload, ReadsBackWhatWasPacked) {
  Payload payload;
  const Json head = {{"small", payload.column(std::vector<uint64_t>{1, 255})},
                     {"middle", payload.column(std::vector<uint64_t>{256})},
                     {"large", payload.column(std::vector<uint64_t>{65536, 7})},
                     {"huge", payload.column(std::vector<uint64_t>{uint64_t{1} << 40, 3})},
                     {"fractions", payload.column(std::vector<double>{-1, 0.25})},
                     {"none", payload.column(std::vector<uint64_t>{})},
                     {"text", "<script>\xff\"\n"}};
  const testing::Unpacked read = testing::unpacked(testing::packed(payload, head));
  EXPECT_THAT(read.column(read.head["small"]), ElementsAre(1, 255));
  EXPECT_EQ(read.head["small"]["type"], "u8");
  EXPECT_THAT(read.column(read.head["middle"]), ElementsAre(256));
  EXPECT_EQ(read.head["middle"]["type"], "u16");
  EXPECT_THAT(read.column(read.head["large"]), ElementsAre(65536, 7));
  EXPECT_THAT(read.column(read.head["huge"]), ElementsAre(1099511627776.0, 3));
  EXPECT_THAT(read.column(read.head["fractions"]), ElementsAre(-1, 0.25));
  EXPECT_THAT(read.column(read.head["none"]), ElementsAre());
  for (const char* name : {"small", "middle", "large", "huge", "fractions"}) {
    EXPECT_EQ(read.head[name]["at"].get<int>() % 8, 0) << name;  // typed arrays need it
  }
  EXPECT_EQ(read.head["text"], "<script>\xef\xbf\xbd\"\n");
}

TEST(Payload, HasNothingThatMarkupCouldBeginWith) {
  for (size_t length = 0; length < 5; ++length) {
    Payload payload;
    const std::string text = testing::packed(payload, {{"text", std::string(length, '<')}});
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
              std::string::npos);
    EXPECT_EQ(testing::unpacked(text).head["text"], std::string(length, '<'));
  }
}

TEST(Payload, IsPackedPieceByPiece) {
  std::vector<uint64_t> numbers;
  uint64_t number = 1;
  for (int i = 0; i < 200'000; ++i) numbers.push_back((number = number * 6364136223846793005 + 1) >> 33);
  Payload payload;
  const Json head = {{"numbers", payload.column(numbers)}};
  const testing::Unpacked read = testing::unpacked(testing::packed(payload, head));
  EXPECT_EQ(read.column(read.head["numbers"]), std::vector<double>(numbers.begin(), numbers.end()));
}

TEST(Column, HoldsSmallAndLargeNumbers) {
  for (const uint64_t large : {uint64_t{7}, uint64_t{UINT32_MAX}, uint64_t{UINT32_MAX} + 1, uint64_t{1} << 50}) {
    Column column;
    std::vector<double> all;
    for (const uint64_t number : {uint64_t{1}, uint64_t{2}, large, uint64_t{3}}) {
      column.push_back(number);
      all.push_back(double(number));
    }
    Payload payload;
    const Json head = {{"column", payload.column(column)}};
    const testing::Unpacked read = testing::unpacked(testing::packed(payload, head));
    EXPECT_EQ(read.column(read.head["column"]), all);
  }
}

TEST(Texts, AreTakenByNumber) {
  Texts texts;
  texts.number("a");
  texts.number("a text that is too long to lie in the string itself");
  texts.number("a");
  EXPECT_EQ(texts.take(), Json({"", "a", "a text that is too long to lie in the string itself"}));
  EXPECT_TRUE(texts.all().empty());
}

TEST(Texts, HasEachOnceAndTheEmptyOneFirst) {
  Texts texts;
  EXPECT_EQ(texts.number("a"), 1u);
  EXPECT_EQ(texts.number("b"), 2u);
  EXPECT_EQ(texts.number("a"), 1u);
  EXPECT_EQ(texts.number(""), 0u);
  EXPECT_THAT(texts.all(), ElementsAre("", "a", "b"));
}

}  // namespace
}  // namespace tensorscope::html
