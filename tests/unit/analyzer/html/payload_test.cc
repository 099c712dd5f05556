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
  const testing::Unpacked read = testing::unpacked(payload.packed(head));
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
    const std::string text = payload.packed({{"text", std::string(length, '<')}});
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
              std::string::npos);
    EXPECT_EQ(testing::unpacked(text).head["text"], std::string(length, '<'));
  }
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
