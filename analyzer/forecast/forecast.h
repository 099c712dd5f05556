// SPDX-License-Identifier: Apache-2.0
// What a program will need at other sizes: the peak with its error, what it consists of, what fits, and what is the
// first to hit the limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forecast/outcome.h"
#include "forecast/peak_rows.h"
#include "forecast/samples.h"
#include "forecast/sizes.h"
#include "forecast/whatif/scenario.h"

namespace tensorscope::analyzer::forecast {

struct Question {
  std::vector<Size> told;                                   // --vary; empty: found from shapes
  std::vector<std::pair<std::string, int64_t>> set;         // the wanted sizes; one that is not set is as in the base
  std::optional<uint64_t> limit;                            // bytes of the device
  std::vector<std::pair<std::string, Scenario>> scenarios;  // with what to call them
};

struct Answer {
  std::vector<Size> sizes;
  size_t base = 0;
  SizeValues target;
  Outcome plain;
  std::vector<Outcome> scenarios;
  PeakRows at_peak;
  std::vector<Check> checks;
  double matched = 1;       // the part of the base's peak that has a counterpart in the others
  UnreadFiles unread;       // that the answer lacks; empty where it makes no difference
  bool peak_moves = false;  // it is reached at another moment than in the base
};

// Throws BadInput.
Answer answer(const std::vector<Sample>& samples, const Question& question);

}  // namespace tensorscope::analyzer::forecast
