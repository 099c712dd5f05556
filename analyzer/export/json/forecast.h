// SPDX-License-Identifier: Apache-2.0
// The answer of `forecast` as JSON (docs/cli/forecast.md).
#pragma once

#include <string>
#include <vector>

#include "forecast/forecast.h"

namespace tensorscope::exports {

std::string forecast_json(const std::vector<analyzer::forecast::Sample>& samples,
                          const analyzer::forecast::Answer& answer, const analyzer::forecast::Question& question);

}  // namespace tensorscope::exports
