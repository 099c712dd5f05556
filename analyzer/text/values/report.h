// SPDX-License-Identifier: Apache-2.0
// The answers of `tensorscope values`: what was captured, statistics over steps, one value.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/terminal.h"
#include "values/name_rows.h"

namespace tensorscope::text {

using ValuesFiles = std::vector<std::unique_ptr<values::ValuesFile>>;

// "▁▂▅█", at most `width` characters; "" for fewer than two points.
std::string sparkline(const std::vector<double>& points, int width);

// "[64, 1024]"
std::string shape_text(const std::vector<int64_t>& shape);
// "0.5", "3.142", "1.2e-07"
std::string short_number(double number);
// "2 NaN, 1 inf of 8"; "" where all are finite.
std::string bad_elements(const values::Statistics& statistics);

// What was found, the processes, one row a name, what was not recorded. `top`: rows; 0 for all.
std::string values_listing(const ValuesFiles& files, const std::vector<values::NameRow>& rows, values::Stat stat,
                           size_t top, const Terminal& terminal);

struct StatRow {
  size_t file = 0;
  values::Value value;
  std::optional<values::Statistics> statistics;
};
// One row a value: its statistics. `left_out`: rows beyond those that are given.
std::string statistics_table(const ValuesFiles& files, const std::vector<StatRow>& rows,
                             const std::vector<values::Stat>& stats, uint64_t left_out, const Terminal& terminal);

// One line of a file that is followed: "step 3 train  model.fc  mean 0.5  std 1.2".
std::string followed_line(const ValuesFiles& files, const StatRow& row, const std::vector<values::Stat>& stats);

// One value with its elements. `others`: values that the question also fits.
std::string value_text(const ValuesFiles& files, size_t file, const values::Value& value, uint64_t others,
                       const Terminal& terminal);

}  // namespace tensorscope::text
