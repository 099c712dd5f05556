// SPDX-License-Identifier: Apache-2.0
// Numbers as a person reads them, the same in the messages of the preload and in the output of the analyzer:
//   bytes     512 B   812.0 MiB   1.42 GiB     one decimal in KiB and MiB, two from GiB on
//   count     7   1,043
//   percent   0 %   <1 %   36 %
//   duration  41 ms   4.2 s   12m03s   2h05m   3d04h     of nanoseconds; cut, not rounded
//
// Context: any. No allocation, no state; integers alone, so that the program's locale changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace tensorscope {

// Text in a buffer of its own.
class NumberText {
 public:
  std::string_view view() const { return {text_, size_}; }
  const char* c_str() const { return text_; }

 protected:
  using Wide = unsigned __int128;

  void add(char c) {
    if (size_ + 1 < sizeof text_) text_[size_++] = c;
  }
  void add(std::string_view text) {
    for (char c : text) add(c);
  }
  void add_digits(Wide value, int least = 1) {
    char digits[40];
    int count = 0;
    for (; value != 0 || count < least; value /= 10) digits[count++] = char('0' + int(value % 10));
    while (count > 0) add(digits[--count]);
  }
  // To the nearest; where both are as near, to the even one.
  static Wide rounded_quotient(Wide dividend, Wide divisor) {
    const Wide quotient = dividend / divisor, twice_rest = dividend % divisor * 2;
    return quotient + (twice_rest > divisor || (twice_rest == divisor && quotient % 2 != 0) ? 1 : 0);
  }

 private:
  char text_[48] = "";
  size_t size_ = 0;
};

class ByteText : public NumberText {
 public:
  explicit ByteText(uint64_t bytes) {
    if (bytes < 1024) {
      add_digits(bytes);
      add(" B");
      return;
    }
    constexpr std::string_view kUnits[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    size_t unit = 0;
    int shift = 10;
    // 1023.95 would read 1024.0: the next unit reads better.
    while (unit + 1 < std::size(kUnits) && Wide(bytes) * 20 >= Wide(20479) << shift) {
      ++unit;
      shift += 10;
    }
    const int decimals = unit < 2 ? 1 : 2;
    const uint64_t scale = decimals == 1 ? 10 : 100;
    const Wide scaled = rounded_quotient(Wide(bytes) * scale, Wide(1) << shift);
    add_digits(scaled / scale);
    add('.');
    add_digits(scaled % scale, decimals);
    add(kUnits[unit]);
  }
};

class CountText : public NumberText {
 public:
  explicit CountText(uint64_t count) { add_count(count); }
  // "1 tensor", "1,043 tensors". A noun of more than 19 letters is cut.
  CountText(uint64_t count, std::string_view noun) {
    add_count(count);
    add(' ');
    add(noun.substr(0, 19));
    if (count != 1) add('s');
  }

 private:
  void add_count(uint64_t count) {
    if (count < 1000) {
      add_digits(count);
      return;
    }
    add_count(count / 1000);
    add(',');
    add_digits(count % 1000, 3);
  }
};

// Empty where there is no whole.
class PercentText : public NumberText {
 public:
  PercentText(uint64_t part, uint64_t whole) {
    if (whole == 0) return;
    if (part != 0 && Wide(part) * 200 <= whole) {  // never 0 for something
      add("<1 %");
      return;
    }
    add_digits(rounded_quotient(Wide(part) * 100, whole));
    add(" %");
  }
};

class DurationText : public NumberText {
 public:
  explicit DurationText(uint64_t ns) {
    constexpr uint64_t kMillisecond = 1'000'000, kSecond = 1000 * kMillisecond, kMinute = 60 * kSecond,
                       kHour = 60 * kMinute, kDay = 24 * kHour;
    if (ns < kMillisecond) {
      number(ns / 1000, " us");
    } else if (ns < kSecond) {
      number(ns / kMillisecond, " ms");
    } else if (ns < kMinute) {
      pair(ns / kSecond, ".", ns % kSecond / (kSecond / 10), 1, " s");
    } else if (ns < kHour) {
      pair(ns / kMinute, "m", ns % kMinute / kSecond, 2, "s");
    } else if (ns < kDay) {
      pair(ns / kHour, "h", ns % kHour / kMinute, 2, "m");
    } else {
      pair(ns / kDay, "d", ns % kDay / kHour, 2, "h");
    }
  }

 private:
  void number(uint64_t first, std::string_view unit) {
    add_digits(first);
    add(unit);
  }
  void pair(uint64_t first, std::string_view unit, uint64_t second, int digits, std::string_view second_unit) {
    number(first, unit);
    add_digits(second, digits);
    add(second_unit);
  }
};

}  // namespace tensorscope
