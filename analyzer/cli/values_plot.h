// SPDX-License-Identifier: Apache-2.0
// values --plot: statistics over steps as a picture.
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.h"
#include "text/values/report.h"
#include "values/value_filter.h"

namespace tensorscope::cli {

struct ValuesPlotOptions {
  std::string output;  // "": no picture
  size_t top = 0;      // charts; 0: all
  bool force = false;
};

int plot_values(const text::ValuesFiles& files, const values::ValueFilter& filter,
                const std::vector<values::Stat>& stats, const ValuesPlotOptions& options, Invocation& invocation);

}  // namespace tensorscope::cli
