// SPDX-License-Identifier: Apache-2.0
// A dump as OpenMetrics text, which Prometheus reads: what each device holds by category, the largest allocation sites,
// the process.
#pragma once

#include <string>

#include "memory/opened_dump.h"

namespace tensorscope::exports {

// `sites`: how many of the largest have a row.
std::string openmetrics(analyzer::OpenedDump& opened, size_t sites);

}  // namespace tensorscope::exports
