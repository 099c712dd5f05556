// SPDX-License-Identifier: Apache-2.0
// --plot: charts as a picture in a file.
#pragma once

#include <string>

#include "cli/invocation.h"
#include "export/pictures/plot.h"

namespace tensorscope::cli {

// Whether a picture may be written there. Returns false after a message that says why not.
bool may_plot(const std::string& output, bool force, Invocation& invocation);
// The exit status.
int write_charts(const exports::ChartSheet& sheet, const std::string& output, Invocation& invocation);

}  // namespace tensorscope::cli
