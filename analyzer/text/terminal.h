// SPDX-License-Identifier: Apache-2.0
// Where the text goes: how wide it may be and whether it may have colour.
#pragma once

#include <string>
#include <string_view>

namespace tensorscope::text {

enum class Style { plain, bold, dim, good, bad, warning };
enum class Colour { automatic, always, never };

struct Terminal {
  int width = 0;  // columns; 0: no limit (a file or a pipe: nothing is cut unless COLUMNS says so)
  bool colour = false;
  bool progress = false;  // standard error is a terminal

  std::string styled(Style style, std::string_view text) const;
};

// Looks at standard output: COLUMNS, the window size, NO_COLOR and TERM.
Terminal detect_terminal(Colour colour);

}  // namespace tensorscope::text
