// SPDX-License-Identifier: Apache-2.0
// How statistics of a name went from step to step, for pictures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "values/name_rows.h"

namespace tensorscope::values {

struct Point {
  double x = 0, y = 0;  // x: the step, in evaluation the pass; y: NaN where no element is finite
};

// Of any number of points about a thousand stay: of neighbours the lowest and the highest.
class Line {
 public:
  static constexpr size_t kMax = 1024;
  void add(Point point);
  std::vector<Point> points() const;

 private:
  struct Span {
    Point low, high;  // in the order of their x, once written
    bool broken = false;
  };
  void merge();
  std::vector<Span> spans_;
  size_t per_span_ = 1, in_last_ = 0;
};

struct NameLine {
  size_t file = 0;
  Stat stat = Stat::mean;
  Line line;
};

struct NameSeries {
  std::string_view name, operation;
  format::StepMode mode = format::StepMode::unknown;
  std::vector<NameLine> lines;
};

// One for each name, operation and mode, with a line for each file and statistic; in the order of first appearance.
std::vector<NameSeries> name_series(const std::vector<std::unique_ptr<ValuesFile>>& files, const ValueFilter& filter,
                                    const std::vector<Stat>& stats);

}  // namespace tensorscope::values
