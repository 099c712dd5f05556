// SPDX-License-Identifier: Apache-2.0
#include "text/units.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace tensorscope::text {
namespace {

TEST(Units, BytesChangeUnitWhereTheyWouldRoundToTheNext) {
  EXPECT_EQ(bytes(0), "0 B");
  EXPECT_EQ(bytes(1023), "1023 B");
  EXPECT_EQ(bytes(1024), "1.0 KiB");
  EXPECT_EQ(bytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(bytes(uint64_t{812} << 20), "812.0 MiB");
  EXPECT_EQ(bytes(1524713390), "1.42 GiB");
  EXPECT_EQ(bytes(UINT64_MAX), "16.00 EiB");
}

TEST(Units, SignsAreAlwaysThereButForNothing) {
  EXPECT_EQ(signed_bytes(0), "0 B");
  EXPECT_EQ(signed_bytes(1024), "+1.0 KiB");
  EXPECT_EQ(signed_bytes(-1024), "-1.0 KiB");
  EXPECT_EQ(signed_bytes(INT64_MIN), "-8.00 EiB");
  EXPECT_EQ(signed_count(1043), "+1,043");
  EXPECT_EQ(signed_count(-7), "-7");
}

TEST(Units, CountsArePunctuated) {
  EXPECT_EQ(count(999), "999");
  EXPECT_EQ(count(1000), "1,000");
  EXPECT_EQ(count(1234567), "1,234,567");
  EXPECT_EQ(counted(1, "tensor"), "1 tensor");
  EXPECT_EQ(counted(0, "tensor"), "0 tensors");
}

TEST(Units, PercentNeverHidesSomething) {
  EXPECT_EQ(percent(0, 100), "0 %");
  EXPECT_EQ(percent(1, 1000), "<1 %");
  EXPECT_EQ(percent(36, 100), "36 %");
  EXPECT_EQ(percent(1, 0), "");
}

TEST(Units, Durations) {
  EXPECT_EQ(duration(41'000'000), "41 ms");
  EXPECT_EQ(duration(4'290'000'000), "4.2 s");
  EXPECT_EQ(duration(59'999'000'000), "59.9 s");
  EXPECT_EQ(duration(723'000'000'000), "12m03s");
  EXPECT_EQ(duration(7'500'000'000'000), "2h05m");
  EXPECT_EQ(age(723'000'000'000), "12m");
  EXPECT_EQ(age(400'000'000'000'000), "4d");
}

// What every writer of numbers is held to, those in other languages as well (tests/integration/test_numbers.py).
std::string as_written(const std::string& kind, const std::string& given) {
  const size_t space = given.find(' ');
  if (kind == "bytes") return bytes(std::stoull(given));
  if (kind == "signed bytes") return signed_bytes(std::stoll(given));
  if (kind == "count") return count(std::stoull(given));
  if (kind == "signed count") return signed_count(std::stoll(given));
  if (kind == "percent") return percent(std::stoull(given), std::stoull(given.substr(space)));
  if (kind == "duration") return duration(std::stoull(given));
  const std::optional<uint64_t> size = parse_size(given);
  return size ? std::to_string(*size) : "-";
}

TEST(Units, ExamplesThatTheOtherLanguagesAreHeldTo) {
  std::ifstream file(NUMBER_EXAMPLES);
  size_t examples = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    const std::string kind = line.substr(0, first), given = line.substr(first + 1, second - first - 1);
    EXPECT_EQ(as_written(kind, given), line.substr(second + 1)) << kind << " " << given;
    ++examples;
  }
  EXPECT_GT(examples, 40u);
}

TEST(Units, SizesThatOptionsTake) {
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("10MiB"), 10u << 20);
  EXPECT_EQ(parse_size("10 mib"), 10u << 20);
  EXPECT_EQ(parse_size("10MB"), 10'000'000u);
  EXPECT_EQ(parse_size("1.5G"), uint64_t{3} << 29);
  EXPECT_EQ(parse_size("0"), 0u);
  for (const char* wrong : {"", "x", "-1", "10X", "10Mx", "0x10", "nan", "inf", "99999999999999T", "1 0"}) {
    EXPECT_EQ(parse_size(wrong), std::nullopt) << wrong;
  }
}

TEST(Units, TimesThatOptionsTake) {
  EXPECT_EQ(parse_duration("90"), 90'000'000'000u);
  EXPECT_EQ(parse_duration("250ms"), 250'000'000u);
  EXPECT_EQ(parse_duration("5m"), 300'000'000'000u);
  EXPECT_EQ(parse_duration("2h"), 7'200'000'000'000u);
  for (const char* wrong : {"", "m", "5 weeks", "-5s"}) EXPECT_EQ(parse_duration(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace tensorscope::text
