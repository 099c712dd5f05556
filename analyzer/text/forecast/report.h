// SPDX-License-Identifier: Apache-2.0
// What `forecast` prints: the answer first, then what the peak consists of, what is not linear, and what else could be
// done.
#pragma once

#include <string>
#include <vector>

#include "forecast/forecast.h"
#include "text/terminal.h"

namespace tensorscope::text {

struct ForecastShown {
  const std::vector<analyzer::forecast::Sample>& samples;
  const analyzer::forecast::Answer& answer;
  const analyzer::forecast::Question& question;
};

// At most `top` sites (0: all).
std::string forecast_text(const ForecastShown& shown, size_t top, const Terminal& terminal);

// Which estimates have a larger error for lack of files, which files, and what to do; "" where none has.
std::string unread_note(const analyzer::forecast::Answer& answer);

// "constant", "with batch", "with batch x sequence^2"
std::string growth_phrase(const analyzer::forecast::Powers& powers, const std::vector<analyzer::forecast::Size>& sizes);

}  // namespace tensorscope::text
