// Linked into the preload library for tests: ALTERED_LAYOUT="frame_locals 80" makes that number of the
// interpreter's layout wrong, so that a whole program is recorded with it.
#include <cstdlib>
#include <string>

#include "support/layout_fields.h"

__attribute__((constructor)) static void change_the_layout() {
  const char* change = std::getenv("ALTERED_LAYOUT");
  if (!change) return;
  const std::string text = change;
  const size_t space = text.find(' ');
  if (space == text.npos) return;
  tensorscope::testing::change_layout(text.substr(0, space).c_str(), std::strtol(text.c_str() + space, nullptr, 10));
}
