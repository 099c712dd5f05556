// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/number_text.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <random>
#include <string>

namespace tensorscope {
namespace {

std::string bytes(uint64_t value) { return ByteText(value).c_str(); }

TEST(NumberText, BytesChangeUnitWhereTheyWouldRoundToTheNext) {
  EXPECT_EQ(bytes(0), "0 B");
  EXPECT_EQ(bytes(1023), "1023 B");
  EXPECT_EQ(bytes(1024), "1.0 KiB");
  EXPECT_EQ(bytes(8 << 20), "8.0 MiB");
  EXPECT_EQ(bytes((uint64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(bytes((uint64_t{1} << 30) - 1), "1.00 GiB");
  EXPECT_EQ(bytes(1524713390), "1.42 GiB");
  EXPECT_EQ(bytes(UINT64_MAX), "16.00 EiB");
}

// As printf rounds, over all magnitudes, with the values at which texts change.
TEST(NumberText, BytesAreRoundedToTheNearest) {
  std::mt19937_64 random(7);
  size_t compared = 0;
  for (int bits = 10; bits < 53; ++bits) {  // above, a double is not exact
    for (int i = 0; i < 2000; ++i) {
      uint64_t value = (uint64_t{1} << bits) | (random() & ((uint64_t{1} << bits) - 1));
      if (i % 4 == 0) value &= ~((uint64_t{1} << (bits - 8)) - 1);  // many of these lie half way
      double scaled = double(value) / 1024;
      int unit = 0;
      for (; scaled >= 1023.95; ++unit) scaled /= 1024;
      char expected[32];
      snprintf(expected, sizeof expected, "%.*f %ciB", unit < 2 ? 1 : 2, scaled, "KMGTPE"[unit]);
      ASSERT_EQ(bytes(value), expected) << value;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 43u * 2000);
}

TEST(NumberText, Counts) {
  EXPECT_STREQ(CountText(0).c_str(), "0");
  EXPECT_STREQ(CountText(999).c_str(), "999");
  EXPECT_STREQ(CountText(1000).c_str(), "1,000");
  EXPECT_STREQ(CountText(1002003).c_str(), "1,002,003");
  EXPECT_STREQ(CountText(UINT64_MAX).c_str(), "18,446,744,073,709,551,615");
  EXPECT_STREQ(CountText(1, "tensor").c_str(), "1 tensor");
  EXPECT_STREQ(CountText(0, "tensor").c_str(), "0 tensors");
  EXPECT_STREQ(CountText(UINT64_MAX, "twentytwentytwentytwenty").c_str(),
               "18,446,744,073,709,551,615 twentytwentytwentyts");
}

TEST(NumberText, Percents) {
  EXPECT_STREQ(PercentText(0, 100).c_str(), "0 %");
  EXPECT_STREQ(PercentText(1, 1000).c_str(), "<1 %");
  EXPECT_STREQ(PercentText(5, 1000).c_str(), "<1 %");
  EXPECT_STREQ(PercentText(6, 1000).c_str(), "1 %");
  EXPECT_STREQ(PercentText(998, 1000).c_str(), "100 %");
  EXPECT_STREQ(PercentText(UINT64_MAX, UINT64_MAX).c_str(), "100 %");
  EXPECT_STREQ(PercentText(3, 1).c_str(), "300 %");
  EXPECT_STREQ(PercentText(1, 0).c_str(), "");
}

TEST(NumberText, DurationsAreCut) {
  constexpr uint64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;
  EXPECT_STREQ(DurationText(999).c_str(), "0 us");
  EXPECT_STREQ(DurationText(41'900'000).c_str(), "41 ms");
  EXPECT_STREQ(DurationText(kSecond - 1).c_str(), "999 ms");
  EXPECT_STREQ(DurationText(4290 * kMillisecond).c_str(), "4.2 s");
  EXPECT_STREQ(DurationText(60 * kSecond - 1).c_str(), "59.9 s");
  EXPECT_STREQ(DurationText(723 * kSecond).c_str(), "12m03s");
  EXPECT_STREQ(DurationText(7500 * kSecond).c_str(), "2h05m");
  EXPECT_STREQ(DurationText(76 * 3600 * kSecond).c_str(), "3d04h");
  EXPECT_STREQ(DurationText(UINT64_MAX).c_str(), "213503d23h");
}

}  // namespace
}  // namespace tensorscope
