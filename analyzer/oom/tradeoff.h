// SPDX-License-Identifier: Apache-2.0
// What a remedy costs besides the work of finding it: time of each step, other results, a change of the program.
#pragma once

#include <cstdint>

#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

struct Tradeoff {
  enum class Time : uint8_t { same, little, forward_again, twice_the_steps } time = Time::same;
  enum class Results : uint8_t { same, rounding, other } results = Results::same;
  enum class Change : uint8_t { outside, one_line, some_lines } change = Change::one_line;
};

Tradeoff tradeoff_of(const Remedy& remedy);
const char* name(Tradeoff::Time time);
const char* name(Tradeoff::Results results);
const char* name(Tradeoff::Change change);

}  // namespace tensorscope::analyzer::oom
