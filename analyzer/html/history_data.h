// SPDX-License-Identifier: Apache-2.0
// Memory over the run as the dump itself has it, for the page's curve.
#pragma once

#include "dump/dump.h"
#include "html/payload.h"

namespace tensorscope::html {

// Null without a history of a few moments. Times are seconds after the start of the process; of each device the levels
// at the points, and the most that was live since the point before.
Json history_data(const analyzer::Dump& dump, Payload& payload);

}  // namespace tensorscope::html
