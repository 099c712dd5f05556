// SPDX-License-Identifier: Apache-2.0
#include "text/oom/answer_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/text.h"

namespace tensorscope::text {

namespace {

constexpr int kWidth = 110;  // of sentences, where the terminal does not say

}  // namespace

AnswerText::AnswerText(const Terminal& terminal)
    : terminal_(terminal), width_(terminal.width > 0 ? std::min(terminal.width, kWidth) : kWidth) {}

bool AnswerText::is_narrow() const { return width_ < kWidth; }

std::string& AnswerText::title(const std::string& text, const std::string& remark) {
  text_ += "\n" + terminal_.styled(Style::bold, text) + (remark.empty() ? "" : "  " + remark) + "\n";
  return text_;
}

void AnswerText::sentence(const std::string& text, Style style, int indent) {
  text_ += terminal_.styled(style, text::wrap(text::clean(text), width_, indent)) + "\n";
}

void AnswerText::labelled(const char* label, const std::string& text) {
  constexpr int kLabelled = 15;
  if (!text.empty()) sentence(fmt::format("  {:<12} {}", label, text), Style::plain, kLabelled);
}

}  // namespace tensorscope::text
