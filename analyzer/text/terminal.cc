// SPDX-License-Identifier: Apache-2.0
#include "text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tensorscope::text {

namespace {

constexpr int kNarrowestTerminal = 40;

int window_width() {
  if (const char* columns = getenv("COLUMNS")) {
    int width = atoi(columns);
    if (width > 0) return std::max(width, kNarrowestTerminal);
  }
  if (!isatty(STDOUT_FILENO)) return 0;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max(int(size.ws_col), kNarrowestTerminal);
  return 80;
}

bool wants_colour(Colour colour) {
  if (colour != Colour::automatic) return colour == Colour::always;
  const char* no_color = getenv("NO_COLOR");  // https://no-color.org: any non-empty value
  if (no_color != nullptr && no_color[0] != 0) return false;
  const char* term = getenv("TERM");
  return isatty(STDOUT_FILENO) && term != nullptr && strcmp(term, "dumb") != 0;
}

}  // namespace

std::string Terminal::styled(Style style, std::string_view text) const {
  const char* code = nullptr;
  switch (style) {
    case Style::plain:
      break;
    case Style::bold:
      code = "1";
      break;
    case Style::dim:
      code = "2";
      break;
    case Style::good:
      code = "32";
      break;
    case Style::bad:
      code = "31";
      break;
    case Style::warning:
      code = "33";
      break;
  }
  if (!colour || code == nullptr || text.empty()) return std::string(text);
  return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

Terminal detect_terminal(Colour colour) {
  return {.width = window_width(), .colour = wants_colour(colour), .progress = isatty(STDERR_FILENO) != 0};
}

}  // namespace tensorscope::text
