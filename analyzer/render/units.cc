#include "render/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace tensorscope::render {

std::string bytes(uint64_t value) {
  if (value < 1024) return fmt::format("{} B", value);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double scaled = double(value) / 1024;
  size_t unit = 0;
  // 1023.95 would print as 1024.0: the next unit reads better.
  while (scaled >= 1023.95 && unit + 1 < std::size(kUnits)) {
    scaled /= 1024;
    ++unit;
  }
  return unit >= 2 ? fmt::format("{:.2f} {}", scaled, kUnits[unit]) : fmt::format("{:.1f} {}", scaled, kUnits[unit]);
}

std::string signed_bytes(int64_t value) {
  if (value == 0) return "0 B";
  return (value > 0 ? "+" : "-") + bytes(value > 0 ? uint64_t(value) : -uint64_t(value));
}

std::string count(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string signed_count(int64_t value) {
  if (value == 0) return "0";
  return (value > 0 ? "+" : "-") + count(value > 0 ? uint64_t(value) : -uint64_t(value));
}

std::string percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "";
  double share = 100.0 * double(part) / double(whole);
  if (part > 0 && share < 0.5) return "<1 %";
  return fmt::format("{:.0f} %", share);
}

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

std::string duration(uint64_t ns) {
  if (ns < kMillisecond) return fmt::format("{} us", ns / 1000);
  if (ns < kSecond) return fmt::format("{} ms", ns / kMillisecond);
  if (ns < kMinute) return fmt::format("{:.1f} s", std::floor(double(ns) / 1e8) / 10);
  if (ns < kHour) return fmt::format("{}m{:02}s", ns / kMinute, ns % kMinute / kSecond);
  if (ns < kDay) return fmt::format("{}h{:02}m", ns / kHour, ns % kHour / kMinute);
  return fmt::format("{}d{:02}h", ns / kDay, ns % kDay / kHour);
}

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

}  // namespace tensorscope::render
