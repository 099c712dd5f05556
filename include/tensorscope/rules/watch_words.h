// SPDX-License-Identifier: Apache-2.0
// The words, numbers and paths that watches are written in: one grammar for both programs, so that what `tensorscope
// watch --check` accepts is what the preload does.
//
// Context: run_or_abandon_on_oom() in the preload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorscope/rules/code_path.h"
#include "tensorscope/rules/watch_path.h"
#include "tensorscope/rules/watch_spec.h"

namespace tensorscope::rules {

namespace watch_detail {

struct Word {
  std::string_view text;
  int value;
};
inline constexpr Word kOf[] = {{"outputs", 1},   {"inputs", 2},          {"parameters", 3}, {"buffers", 4},
                               {"gradients", 5}, {"optimizer_state", 6}, {"op", 7},         {"returns", 8}};
inline constexpr Word kModes[] = {{"any", 0}, {"train", 1}, {"eval", 2}};
inline constexpr std::string_view kKeys[] = {"path",   "of",        "every",     "steps",     "mode",     "class",
                                             "dtype",  "exclude",   "keep",      "max_bytes", "slice",    "store",
                                             "gather", kMoments[0], kMoments[1], kMoments[2], kMoments[3]};
inline constexpr std::string_view kFileKeys[] = {"watch", "flush", "limit", "when_full"};
inline constexpr std::string_view kKeep[] = {"full", "statistics", "hash", "norms", "quantiles", "histogram"};
// c10::ScalarType (torch/headeronly/core/ScalarType.h, 2.13).
inline constexpr Word kStore[] = {{"float16", 5}, {"float32", 6}, {"float64", 7}, {"bfloat16", 15}};

template <size_t size>
std::string choices(const std::string_view (&words)[size]) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}
template <size_t size>
std::string choices(const Word (&words)[size]) {
  std::string text;
  for (const Word& word : words) text.append(text.empty() ? "" : ", ").append(word.text);
  return text;
}
template <size_t size>
bool is_one_of(std::string_view text, const std::string_view (&words)[size]) {
  for (const std::string_view word : words) {
    if (word == text) return true;
  }
  return false;
}

inline bool number_at(std::string_view text, size_t& at, uint64_t& number) {
  const size_t begin = at;
  number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    if (__builtin_mul_overflow(number, uint64_t{10}, &number) ||
        __builtin_add_overflow(number, uint64_t(text[at] - '0'), &number)) {
      return false;
    }
  }
  return at > begin;
}

inline bool read_size(std::string_view text, uint64_t& bytes) {
  size_t at = 0;
  if (!number_at(text, at, bytes)) return false;
  std::string_view unit = text.substr(at);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  constexpr std::string_view kUnits[] = {"K", "M", "G", "T"};
  for (int i = 0; i < 4; ++i) {
    const std::string letter(kUnits[i]);
    if (unit == letter || unit == letter + "B" || unit == letter + "iB") {
      return !__builtin_mul_overflow(bytes, uint64_t{1} << (10 * (i + 1)), &bytes);
    }
  }
  return unit.empty() || unit == "B";
}

inline bool read_time(std::string_view text, uint64_t& ms) {
  size_t at = 0;
  if (!number_at(text, at, ms)) return false;
  const std::string_view unit = text.substr(at);
  if (unit == "ms") return true;
  if (unit == "s") return !__builtin_mul_overflow(ms, uint64_t{1000}, &ms);
  return unit == "min" && !__builtin_mul_overflow(ms, uint64_t{60'000}, &ms);
}

// "7", "10-", "10-20", "-20"
inline bool read_steps(std::string_view text, uint32_t& first, uint32_t& last) {
  uint64_t from = 0, to = UINT32_MAX;
  size_t at = 0;
  const bool has_from = number_at(text, at, from);
  if (at < text.size() && text[at] == '-') {
    ++at;
    if (at < text.size() && !number_at(text, at, to)) return false;
    if (!has_from) from = 0;
  } else if (has_from) {
    to = from;
  } else {
    return false;
  }
  if (at != text.size() || from > to || to > UINT32_MAX) return false;
  first = uint32_t(from);
  last = uint32_t(to);
  return true;
}

inline bool integer_at(std::string_view text, size_t& at, int64_t& number) {
  const bool negative = at < text.size() && text[at] == '-';
  at += negative;
  uint64_t size = 0;
  if (!number_at(text, at, size) || size > INT64_MAX) return false;
  number = negative ? -int64_t(size) : int64_t(size);
  return true;
}

// One dimension.
inline bool read_slice_step(std::string_view text, SliceStep& step) {
  size_t at = 0;
  int64_t* const parts[] = {&step.begin, &step.end, &step.every};
  int part = 0;
  for (;; ++part, ++at) {
    if (at < text.size() && text[at] != ':' && !integer_at(text, at, *parts[part])) return false;
    if (at == text.size()) break;
    if (text[at] != ':' || part == 2) return false;
  }
  step.is_index = part == 0;
  return !text.empty() && step.every > 0;
}

// "0, :8, -1": as Python's, with steps from 1 on.
inline bool read_slice(std::string_view text, std::vector<SliceStep>& slice) {
  for (;;) {
    const size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!read_slice_step(part, slice.emplace_back())) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

// False: not a word of `keep`.
inline bool add_kept(std::string_view word, WatchSpec& spec) {
  if (!is_one_of(word, kKeep)) return false;
  spec.full |= word == "full";
  spec.statistics |= word == "statistics" || word == "histogram" || word == "hash";  // they stand in one row
  spec.hash |= word == "hash";
  spec.norms |= word == "norms";
  spec.quantiles |= word == "quantiles";
  spec.histogram |= word == "histogram";
  return true;
}

// A function of a file, or of a class in it.
inline bool is_dotted_name(std::string_view text) {
  bool begins = true;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
    if (c == '.' ? begins : !letter && (begins || c < '0' || c > '9')) return false;
    begins = c == '.';
  }
  return !begins;
}

inline std::string pattern_problem(std::string_view path) {
  if (path.empty()) return "the path is empty";
  for (size_t i = 0, depth = 0; i < path.size(); ++i) {
    if (path[i] == '[') ++depth;
    if (path[i] == ']' && depth-- == 0) return "']' without '['";
    if (i + 1 == path.size() && depth != 0 && path[i] != ']') return "'[' without ']'";
    if ((path[i] == '.' && (i == 0 || i + 1 == path.size() || path[i + 1] == '.'))) return "a segment is empty";
    if (static_cast<unsigned char>(path[i]) < ' ') return "a control character";
  }
  for (const std::string& segment : path_segments(path)) {
    if (segment != "**" && segment.find("**") != std::string::npos) return "'**' must be a whole segment";
  }
  return "";
}

// What is wrong with the path, "" for nothing.
inline std::string set_path(std::string_view path, WatchSpec& spec) {
  spec.path = path;
  spec.pattern = path_segments(path);
  const bool returns = spec.of == WatchOf::returns;
  if (!returns &&
      !((spec.of == WatchOf::automatic || code_path_detail::parts(path).size() > 1) && is_code_path(path))) {
    return pattern_problem(path);
  }
  if (!returns && spec.of != WatchOf::automatic) return "only of = \"returns\" goes with source code";
  if (std::string problem = read_code_path(path, returns, spec.code); !problem.empty()) return problem;
  if (spec.code.module.empty() && !spec.class_name.empty()) return "a class goes with methods of modules only";
  spec.of = spec.code.variable.empty() ? WatchOf::returns : WatchOf::variables;
  return "";
}

}  // namespace watch_detail

}  // namespace tensorscope::rules
