// SPDX-License-Identifier: Apache-2.0
// What a predicted peak consists of, by category and by allocation site, beside what was seen in the inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "forecast/growth.h"
#include "forecast/replay.h"
#include "forecast/samples.h"
#include "forecast/sizes.h"

namespace tensorscope::analyzer::forecast {

// Bytes, and how far they may be off.
struct Amount {
  double bytes = 0, spread = 0;
};

struct CategoryRow {
  Category category = Category::unknown;
  std::vector<uint64_t> seen;  // at the peak of each input
  Amount predicted;            // at the predicted peak
  Powers powers{};             // the highest of what it consists of
};

// Blocks of one line, of one module and category.
struct SiteRow {
  uint32_t site = 0;     // of the base
  uint32_t forward = 0;  // in the backward of this one
  std::string where, modules;
  Category category = Category::unknown;
  uint64_t seen = 0;  // of the base, at its peak
  Amount predicted;
  Powers powers{};
  Basis basis = Basis::constant;  // the worst of what it consists of
};

struct PeakRows {
  std::vector<CategoryRow> categories;  // by predicted bytes, most first
  std::vector<SiteRow> sites;           // likewise
  std::vector<SiteRow> unexplained;     // those that no shape explains and that vary or have no counterpart
};

// `replay`: of the base, samples[base], with its values of the sizes; `change`: after which the peak is reached.
struct PeakQuestion {
  const std::vector<Sample>& samples;
  size_t base;
  SizeValues base_values, target;
};
PeakRows rows_at_peak(const PeakQuestion& question, const Replay& replay, size_t change);

// What is alive at the peak and of which a what-if does not know the type.
struct UnknownType {
  std::string where, modules;
  double bytes = 0;  // up and down
};

// After that change, the most bytes first.
std::vector<UnknownType> unknown_types(const PeakQuestion& question, const Replay& replay, size_t change);

// "train.py:17 forward", "backward of train.py:17 forward".
std::string place_of(const Sample& base, uint32_t block);

}  // namespace tensorscope::analyzer::forecast
