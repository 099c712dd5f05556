// SPDX-License-Identifier: Apache-2.0
#include "text/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "tensorscope/rules/number_text.h"

namespace tensorscope::text {

namespace {
bool exact_bytes = false;
}

void show_exact_bytes(bool exact) { exact_bytes = exact; }

std::string bytes(uint64_t value) { return exact_bytes ? count(value) + " B" : ByteText(value).c_str(); }

std::string signed_bytes(int64_t value) {
  if (value == 0) return "0 B";
  return (value > 0 ? "+" : "-") + bytes(value > 0 ? uint64_t(value) : -uint64_t(value));
}

std::string count(uint64_t value) { return CountText(value).c_str(); }

std::string signed_count(int64_t value) {
  if (value == 0) return "0";
  return (value > 0 ? "+" : "-") + count(value > 0 ? uint64_t(value) : -uint64_t(value));
}

std::string percent(uint64_t part, uint64_t whole) { return PercentText(part, whole).c_str(); }

std::string counted(uint64_t value, std::string_view noun) {
  return fmt::format("{} {}{}", count(value), noun, value == 1 ? "" : "s");
}

namespace {
constexpr uint64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute,
                   kDay = 24 * kHour;

struct Number {
  double value;
  std::string unit;  // lower case
};

std::optional<Number> split(std::string_view text) {
  std::string copy(text);
  char* end = nullptr;
  if (copy.empty() || !(std::isdigit(uint8_t(copy[0])) || copy[0] == '.')) return std::nullopt;
  if (copy.size() > 1 && (copy[1] == 'x' || copy[1] == 'X')) return std::nullopt;
  double value = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || !std::isfinite(value)) return std::nullopt;
  while (*end == ' ') ++end;
  std::string unit(end);
  std::transform(unit.begin(), unit.end(), unit.begin(), [](char c) { return char(std::tolower(uint8_t(c))); });
  return Number{value, unit};
}

std::optional<uint64_t> whole(double value) {
  if (value >= 18446744073709549568.0) return std::nullopt;  // the largest double below 2^64
  return uint64_t(std::llround(std::min(value, 9.2e18)));
}
}  // namespace

std::string duration(uint64_t ns) { return DurationText(ns).c_str(); }

std::string age(uint64_t ns) {
  if (ns < kSecond) return fmt::format("{}ms", ns / kMillisecond);
  if (ns < kMinute) return fmt::format("{}s", ns / kSecond);
  if (ns < kHour) return fmt::format("{}m", ns / kMinute);
  if (ns < 2 * kDay) return fmt::format("{}h", ns / kHour);
  return fmt::format("{}d", ns / kDay);
}

std::optional<uint64_t> parse_size(std::string_view text) {
  auto number = split(text);
  if (!number) return std::nullopt;
  std::string unit = number->unit;
  if (unit.empty() || unit == "b") return whole(number->value);
  size_t power = std::string_view("kmgtp").find(unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  std::string rest = unit.substr(1);
  if (!rest.empty() && rest != "b" && rest != "ib" && rest != "i") return std::nullopt;
  return whole(number->value * std::pow(rest == "b" ? 1000.0 : 1024.0, double(power + 1)));
}

std::optional<uint64_t> parse_duration(std::string_view text) {
  auto number = split(text);
  if (!number) return std::nullopt;
  const std::string& unit = number->unit;
  uint64_t scale = 0;
  if (unit.empty() || unit == "s") scale = kSecond;
  if (unit == "ms") scale = kMillisecond;
  if (unit == "m" || unit == "min") scale = kMinute;
  if (unit == "h") scale = kHour;
  if (unit == "d") scale = kDay;
  if (scale == 0) return std::nullopt;
  return whole(number->value * double(scale));
}

}  // namespace tensorscope::text
