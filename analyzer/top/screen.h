// SPDX-License-Identifier: Apache-2.0
// A terminal that is drawn as a whole and returns the keys that are pressed; restored at the end, whatever ends it.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tensorscope::top {

class TopTerminal {
 public:
  static constexpr int kNone = -1, kUp = -2, kDown = -3, kPageUp = -4, kPageDown = -5, kResized = -6, kBackspace = -7,
                       kEnter = -8, kEscape = -9;

  // Null: standard input or output is no terminal, or one that cannot be drawn on (TERM=dumb).
  static std::unique_ptr<TopTerminal> open();
  virtual ~TopTerminal() = default;

  virtual int width() const = 0;
  virtual int height() const = 0;
  // `bold`: number of the line that is drawn so.
  virtual void draw(const std::vector<std::string>& lines, size_t bold) = 0;
  // Waits at most so long for a key. A character, or one of the constants.
  virtual int key(int milliseconds) = 0;
};

}  // namespace tensorscope::top
