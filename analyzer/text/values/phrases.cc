// SPDX-License-Identifier: Apache-2.0
#include "text/values/phrases.h"

#include <fmt/format.h>

namespace tensorscope::text {

const char* mode_name(format::StepMode mode) {
  if (mode == format::StepMode::train) return "train";
  return mode == format::StepMode::eval ? "eval" : "";
}

const char* kind_name(format::ValueKind kind) {
  switch (kind) {
    case format::ValueKind::none:
      return "None";
    case format::ValueKind::boolean:
      return "bool";
    case format::ValueKind::integer:
      return "int";
    case format::ValueKind::real:
      return "float";
    case format::ValueKind::text:
      return "str";
    case format::ValueKind::complex:
      return "complex";
    case format::ValueKind::other:
      return "object";
    case format::ValueKind::tensor:
      return "tensor";
  }
  return "";
}

const char* step_source_phrase(format::StepSource source) {
  switch (source) {
    case format::StepSource::backward:
      return "backward passes";
    case format::StepSource::optimizer:
      return "optimizer steps";
    case format::StepSource::mark:
      return "marked by the program";
    case format::StepSource::none:
      break;
  }
  return "";
}

std::string step_words(format::StepMode mode, uint32_t step, uint32_t pass) {
  if (mode == format::StepMode::eval) return fmt::format("eval pass {}", pass);
  return fmt::format("{}{}step {}", mode_name(mode), mode == format::StepMode::train ? " " : "", step);
}

std::string ranges(const std::vector<uint64_t>& numbers) {
  constexpr size_t kMaxRanges = 6;
  std::vector<std::string> parts;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    parts.push_back(end == i + 1 ? std::to_string(numbers[i]) : fmt::format("{}..{}", numbers[i], numbers[end - 1]));
    i = end;
  }
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts.size() > kMaxRanges && i == kMaxRanges - 2) {
      text += ",...";
      i = parts.size() - 1;
    }
    text += (text.empty() ? "" : ",") + parts[i];
  }
  return text;
}

}  // namespace tensorscope::text
