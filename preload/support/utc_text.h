// SPDX-License-Identifier: Apache-2.0
// A point in time as "2026-11-27T19:48:40.123456Z". Without libc's functions for that: they take a lock that a forked
// child may find held.
//
// Context: any.
#pragma once

#include <stdio.h>

#include <cstdint>

namespace tensorscope {

class UtcText {
 public:
  explicit UtcText(uint64_t unix_ns) {
    constexpr uint64_t kNsInSecond = 1'000'000'000, kSecondsInDay = 86'400;
    const uint64_t seconds = unix_ns / kNsInSecond, in_day = seconds % kSecondsInDay;
    // Years begin in March here, so that the day that some years lack is their last. An era has 400 years.
    constexpr uint64_t kDaysFromMarchOfYear0 = 719'468, kDaysInEra = 146'097;
    const uint64_t days = seconds / kSecondsInDay + kDaysFromMarchOfYear0;
    const uint64_t era = days / kDaysInEra, day_of_era = days % kDaysInEra;
    const uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint64_t month_from_march = (5 * day_of_year + 2) / 153;
    const uint64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    const uint64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    const uint64_t year = era * 400 + year_of_era + (month <= 2 ? 1 : 0);
    snprintf(text_, sizeof text_, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", unsigned(year), unsigned(month), unsigned(day),
             unsigned(in_day / 3600), unsigned(in_day / 60 % 60), unsigned(in_day % 60),
             unsigned(unix_ns % kNsInSecond / 1000));
  }
  const char* c_str() const { return text_; }

 private:
  char text_[72];
};

}  // namespace tensorscope
