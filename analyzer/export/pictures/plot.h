// SPDX-License-Identifier: Apache-2.0
// Pictures of numbers over steps or time: charts side by side.
#pragma once

#include <string>
#include <vector>

#include "values/name_series.h"

namespace tensorscope::exports {

struct Chart {
  struct Curve {
    std::string label;
    std::vector<values::Point> points;  // a NaN breaks the line
  };
  std::string title, x_label;
  std::vector<Curve> curves;
  bool stacked = false;  // each curve stands on the one before; all have the same x
  bool bytes = false;    // y is a number of bytes
};

struct ChartSheet {
  std::string title;
  std::vector<Chart> charts;
  double chart_width = 360, chart_height = 220;
  size_t in_row = 3;
};

ChartSheet chart_sheet(const std::vector<std::unique_ptr<values::ValuesFile>>& files,
                       const std::vector<values::NameSeries>& series, const std::string& title);

std::string charts_svg(const ChartSheet& sheet);
// One page without scripts and links; what a point stands for is shown under the pointer.
std::string charts_html(const ChartSheet& sheet);
// For Graphviz, with everything at its place (layout nop2).
std::string charts_dot(const ChartSheet& sheet);

}  // namespace tensorscope::exports
