// SPDX-License-Identifier: Apache-2.0
// The text of `oom`'s answer as it grows: titles, and sentences that are wrapped.
#pragma once

#include <string>
#include <utility>

#include "text/terminal.h"

namespace tensorscope::text {

class AnswerText {
 public:
  explicit AnswerText(const Terminal& terminal);

  // Returns the text, to which tables may be added.
  std::string& title(const std::string& text, const std::string& remark = "");
  void sentence(const std::string& text, Style style = Style::plain, int indent = 2);
  // A line of a list of facts; none if the text is empty.
  void labelled(const char* label, const std::string& text);
  void add(const std::string& table) { text_ += table; }

  const Terminal& terminal() const { return terminal_; }
  int width() const { return width_; }
  bool is_narrow() const;  // narrower than sentences would be
  std::string take() { return std::move(text_); }

 private:
  const Terminal& terminal_;
  const int width_;
  std::string text_;
};

}  // namespace tensorscope::text
