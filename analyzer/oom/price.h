// What a remedy costs besides the work of finding it: time of each step, other results, a change of the program.
#pragma once

#include <cstdint>

#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

struct Price {
  enum class Time : uint8_t { same, little, forward_again, twice_the_steps } time = Time::same;
  enum class Results : uint8_t { same, rounding, other } results = Results::same;
  enum class Change : uint8_t { outside, one_line, some_lines } change = Change::one_line;
};

Price price_of(const Remedy& remedy);
const char* name(Price::Time time);
const char* name(Price::Results results);
const char* name(Price::Change change);

}  // namespace tensorscope::analyzer::oom
