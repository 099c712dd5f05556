// SPDX-License-Identifier: Apache-2.0
#include "text/choice_words.h"

#include <fmt/format.h>

#include "memory/nearest_words.h"

namespace tensorscope::text {

std::string did_you_mean(const std::vector<std::string>& near) {
  std::string text;
  for (size_t i = 0; i < near.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == near.size() ? " or " : ", ") + near[i];
  }
  return text.empty() ? "" : "; did you mean " + text + "?";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& words) {
  return did_you_mean(analyzer::nearest_words(word, words));
}

std::string listed(const std::vector<std::string>& words, size_t most) {
  std::string text;
  for (size_t i = 0; i < words.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > most) text += " and " + std::to_string(words.size() - most) + " more";
  return text;
}

std::string invalid_choice(std::string_view option, std::string_view word, const std::vector<std::string>& words) {
  const std::string near = did_you_mean(word, words);
  return fmt::format("invalid value '{}' for {}{} choose from {}", word, option, near.empty() ? ";" : near,
                     listed(words, words.size()));
}

}  // namespace tensorscope::text
