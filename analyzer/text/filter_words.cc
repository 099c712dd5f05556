// SPDX-License-Identifier: Apache-2.0
#include "text/filter_words.h"

#include <fmt/format.h>

#include <iterator>

#include "text/choice_words.h"

namespace tensorscope::text {

using analyzer::FilterField;
using analyzer::FilterMistake;
using analyzer::NoMatch;

namespace {

constexpr size_t kMaxNamed = 5;        // of values that may be long, in one sentence
constexpr size_t kMaxShortWords = 12;  // of values that are one word

// In the order of FilterField.
constexpr const char* kOptions[] = {"--dtype",   "--device", "--shape",     "--thread",        "--category",
                                    "--class",   "--name",   "--holder",    "--module",        "--function",
                                    "--line",    "--stack",  "--min-size",  "--max-size",      "--min-age",
                                    "--max-age", "--leaf",   "--with-grad", "--requires-grad", "--not-in-optimizer"};
static_assert(std::size(kOptions) == size_t(FilterField::not_in_optimizer) + 1);

const char* option_of(FilterField field) { return kOptions[size_t(field)]; }

std::string present_words(const FilterMistake& mistake) {
  if (mistake.field == FilterField::line) {
    return mistake.present.empty() ? "no live tensor has a source file."
                                   : "files that created live tensors: " + listed(mistake.present, kMaxNamed) + ".";
  }
  return mistake.present.empty() ? "the dump has none." : "the dump has " + listed(mistake.present, kMaxNamed) + ".";
}

std::string unknown_value(const FilterMistake& mistake) {
  const char* option = option_of(mistake.field);
  if (mistake.field == FilterField::category) return invalid_choice(option, mistake.value, mistake.present) + ".";
  const std::string near = did_you_mean(mistake.near);
  return fmt::format("invalid value '{}' for {}: there is no such {}{}{}", mistake.value, option,
                     mistake.field == FilterField::line ? "file" : option + 2, near.empty() ? "; " : near + " ",
                     present_words(mistake));
}

// Returns the values that exist instead of the one that matches nothing, "" if they are not known.
std::string instead_words(const NoMatch& answer) {
  if (!answer.names_known) return "the dump has no names (see tensorscope info)";
  if (answer.field == FilterField::line) {
    const std::string& line = answer.values.front();
    return answer.present.empty() ? "--line matches the innermost line of your own code; --stack matches any frame"
                                  : fmt::format("lines of {} that created live tensors: {}",
                                                analyzer::file_and_line(line).first, listed(answer.present));
  }
  if (!answer.near.empty()) return "the dump has " + listed(answer.near, kMaxNamed);
  if (answer.field == FilterField::module && answer.present.empty()) return "no live tensor belongs to a module";
  if (answer.present.empty()) return "";
  const bool long_values = answer.field == FilterField::holder || answer.field == FilterField::module;
  return "the dump has " + listed(answer.present, long_values ? kMaxNamed : kMaxShortWords);
}

}  // namespace

std::string filter_mistake_phrase(const FilterMistake& mistake) {
  switch (mistake.reason) {
    case FilterMistake::Reason::unknown:
      return unknown_value(mistake);
    case FilterMistake::Reason::not_recorded:
      return fmt::format("{} needs names, which the dump does not have (see tensorscope info).",
                         option_of(mistake.field));
    case FilterMistake::Reason::malformed:
      break;
  }
  if (mistake.field == FilterField::stack) {
    return fmt::format("invalid value '{}' for --stack: invalid regular expression ({}).", mistake.value,
                       mistake.detail);
  }
  return fmt::format("invalid value '{}' for --shape: shapes look like 64,1024 or 64,* or ...,3; {}", mistake.value,
                     present_words(mistake));
}

std::string no_match_phrase(const NoMatch& answer) {
  if (answer.reason == NoMatch::Reason::no_tensors) return "no live tensors";
  if (answer.reason == NoMatch::Reason::all_together) {
    return "each filter matches something, but nothing matches all of them";
  }
  const char* option = option_of(answer.field);
  std::string asked = answer.values.empty() ? option : "";
  for (const std::string& value : answer.values) {
    asked += fmt::format("{}{} '{}'", asked.empty() ? "" : " ", option, value);
  }
  const std::string instead = instead_words(answer);
  return fmt::format("nothing matches {}{}{}", asked, instead.empty() ? "" : "; ", instead);
}

}  // namespace tensorscope::text
