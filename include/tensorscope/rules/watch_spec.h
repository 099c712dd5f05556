// What is to be watched, as `--watch` and a watch file say it: one grammar for both programs, so that what
// `tensorscope watch --check` accepts is what the preload does.
//
// Context: run_if_memory_lasts() in the preload. toml++ without exceptions.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorscope/rules/code_path.h"
#include "tensorscope/rules/watch_path.h"

namespace tensorscope::rules {

enum class WatchOf : uint8_t {
  automatic,
  outputs,
  inputs,
  parameters,
  buffers,
  gradients,
  optimizer_state,
  operations,
  returns,    // of functions; `code` says of which
  variables,  // of functions; no word of a watch, since the path says it
};
inline bool is_of_code(WatchOf of) { return of == WatchOf::returns || of == WatchOf::variables; }
enum class WatchMode : uint8_t { any, train, eval };

// One dimension of a slice: "3", "2:", ":-1", "::4".
struct SliceStep {
  int64_t begin = 0, end = INT64_MAX, every = 1;
  bool is_index = false;
};

// When a function of the user's file is called: for each value, for what a step brought together, once it is complete
// with its ranks, and at the end of the program.
enum class CallbackMoment : uint8_t { pre_save, pre_gather, post_gather, post_trace };
inline constexpr std::string_view kMoments[] = {"pre_save", "pre_gather", "post_gather", "post_trace"};

struct Callback {
  CallbackMoment moment = CallbackMoment::pre_save;
  std::string file;      // beside the watch file, or absolute
  std::string function;  // "halve", "Class.method"
  uint32_t line = 0;     // of the watch file
};

struct WatchSpec {
  std::string text;    // as it was given
  std::string origin;  // "--watch", "watch.toml:7"
  std::string path;
  std::vector<std::string> pattern;
  CodePath code;
  std::vector<std::vector<std::string>> exclude;
  WatchOf of = WatchOf::automatic;
  WatchMode mode = WatchMode::any;
  uint32_t every = 1, first_step = 0, last_step = UINT32_MAX;
  std::string class_name;  // of the module; a pattern
  std::string dtype;       // "float32"
  bool full = false;
  bool statistics = true;
  bool hash = false;
  bool norms = false, quantiles = false, histogram = false;
  std::vector<SliceStep> slice;      // of the elements that are kept; empty: all
  int store = -1;                    // c10::ScalarType that elements are kept as; -1: their own
  uint64_t most_bytes = UINT64_MAX;  // of one value's elements
  std::vector<Callback> callbacks;
  uint32_t gather = 1;  // steps that are handed over together
};

inline bool is_excluded(const WatchSpec& watch, const std::vector<std::string>& path) {
  return std::any_of(watch.exclude.begin(), watch.exclude.end(),
                     [&](const auto& pattern) { return match_path(pattern, path) == PathMatch::whole; });
}

struct WatchError {
  std::string origin;
  std::string what;  // one line for a person
};

struct WatchSettings {
  std::vector<WatchSpec> watches;
  uint64_t flush_ms = 1000;
  uint64_t most_bytes = UINT64_MAX;  // of the file
  bool wait_when_full = false;       // instead of leaving values out
  std::vector<WatchError> errors;
};

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

class FileReader {
 public:
  FileReader(std::string_view name, WatchSettings& out) : name_(name), out_(out) {}

  void read(const toml::table& file) {
    for (const auto& [key, value] : file) {
      if (!is_one_of(key.str(), kFileKeys)) {
        error(value, "unknown key '" + std::string(key.str()) + "'; choose from " + choices(kFileKeys));
      }
    }
    if (const toml::node* node = file.get("flush")) {
      if (!read_time(text(*node), out_.flush_ms)) error(*node, "flush takes a time such as \"500ms\" or \"5s\"");
    }
    if (const toml::node* node = file.get("limit")) read_bytes(*node, "limit", out_.most_bytes);
    if (const toml::node* node = file.get("when_full")) {
      out_.wait_when_full = text(*node) == "wait";
      if (!out_.wait_when_full && text(*node) != "drop") error(*node, "when_full takes \"drop\" or \"wait\"");
    }
    const toml::node* watches = file.get("watch");
    const toml::array* list = watches ? watches->as_array() : nullptr;
    if (!list || list->empty()) {
      out_.errors.push_back({std::string(name_), "no [[watch]] table"});
      return;
    }
    for (const toml::node& node : *list) {
      if (const toml::table* table = node.as_table()) {
        read_watch(*table);
      } else {
        error(node, "watch is written as [[watch]]");
      }
    }
  }

 private:
  static std::string_view text(const toml::node& node) {
    const toml::value<std::string>* value = node.as_string();
    return value ? std::string_view(value->get()) : std::string_view();
  }
  void error(const toml::node& node, std::string what) {
    out_.errors.push_back({std::string(name_) + ":" + std::to_string(node.source().begin.line), std::move(what)});
  }
  void read_bytes(const toml::node& node, const char* key, uint64_t& bytes) {
    const toml::value<int64_t>* number = node.as_integer();
    if (number && number->get() >= 0) {
      bytes = uint64_t(number->get());
    } else if (!read_size(text(node), bytes)) {
      error(node, std::string(key) + " takes bytes or a size such as \"64M\"");
    }
  }
  template <size_t size>
  bool word(const toml::table& table, const char* key, const Word (&words)[size], int& value) {
    const toml::node* node = table.get(key);
    if (!node) return true;
    for (const Word& each : words) {
      if (each.text == text(*node)) {
        value = each.value;
        return true;
      }
    }
    error(*node, std::string(key) + " takes one of " + choices(words));
    return false;
  }
  std::vector<std::string> texts(const toml::node& node) {
    std::vector<std::string> all;
    if (const toml::array* list = node.as_array()) {
      for (const toml::node& each : *list) all.emplace_back(text(each));
    } else {
      all.emplace_back(text(node));
    }
    return all;
  }

  void read_number_of_steps(const toml::table& table, const char* key, uint32_t& steps) {
    const toml::node* node = table.get(key);
    if (!node) return;
    const toml::value<int64_t>* number = node->as_integer();
    if (number && number->get() >= 1 && number->get() <= UINT32_MAX) {
      steps = uint32_t(number->get());
    } else {
      error(*node, std::string(key) + " takes a number of steps from 1 on");
    }
  }

  // "file.py:function", or several.
  void read_callbacks(const toml::table& table, WatchSpec& spec) {
    for (size_t moment = 0; moment < std::size(kMoments); ++moment) {
      const toml::node* node = table.get(kMoments[moment]);
      if (!node) continue;
      for (const std::string& each : texts(*node)) {
        const size_t colon = each.rfind(':');
        if (colon == std::string::npos || colon == 0 || !is_dotted_name(std::string_view(each).substr(colon + 1))) {
          error(*node, std::string(kMoments[moment]) + " takes a file and a function, such as \"callbacks.py:halve\"");
          continue;
        }
        if (spec.of == WatchOf::operations) error(*node, "callbacks do not go with of = \"op\"");
        spec.callbacks.push_back({CallbackMoment(moment), each.substr(0, colon), each.substr(colon + 1),
                                  uint32_t(node->source().begin.line)});
      }
    }
    read_number_of_steps(table, "gather", spec.gather);
  }

  void read_watch(const toml::table& table) {
    const size_t errors_before = out_.errors.size();
    for (const auto& [key, value] : table) {
      if (!is_one_of(key.str(), kKeys)) {
        error(value, "unknown key '" + std::string(key.str()) + "'; choose from " + choices(kKeys));
      }
    }
    WatchSpec spec;
    spec.origin = std::string(name_) + ":" + std::to_string(table.source().begin.line);
    int of = 0, mode = 0;
    word(table, "of", kOf, of);
    word(table, "mode", kModes, mode);
    spec.of = WatchOf(of);
    spec.mode = WatchMode(mode);
    read_number_of_steps(table, "every", spec.every);
    if (const toml::node* node = table.get("steps")) {
      const toml::value<int64_t>* number = node->as_integer();
      if (number && number->get() >= 0 && number->get() <= UINT32_MAX) {
        spec.first_step = spec.last_step = uint32_t(number->get());
      } else if (!read_steps(text(*node), spec.first_step, spec.last_step)) {
        error(*node, "steps takes a number or a range such as \"10-20\" or \"100-\"");
      }
    }
    if (const toml::node* node = table.get("class")) spec.class_name = text(*node);
    if (const toml::node* node = table.get("dtype")) spec.dtype = text(*node);
    if (const toml::node* node = table.get("max_bytes")) read_bytes(*node, "max_bytes", spec.most_bytes);
    if (const toml::node* node = table.get("keep")) {
      spec.statistics = false;
      for (const std::string& each : texts(*node)) {
        if (!add_kept(each, spec)) error(*node, "keep takes one or more of " + choices(kKeep));
      }
    }
    if (const toml::node* node = table.get("slice")) {
      const toml::value<int64_t>* number = node->as_integer();
      if (number) {
        spec.slice = {{number->get(), INT64_MAX, 1, true}};
      } else if (!read_slice(text(*node), spec.slice)) {
        error(*node, "slice takes indexes and ranges such as \"0, :8, -1\" or \"::4\"");
      }
      spec.full = true;
    }
    word(table, "store", kStore, spec.store);
    read_callbacks(table, spec);
    if (const toml::node* node = table.get("exclude")) {
      for (const std::string& each : texts(*node)) {
        if (const std::string problem = pattern_problem(each); !problem.empty()) error(*node, "exclude: " + problem);
        spec.exclude.push_back(path_segments(each));
      }
    }
    const toml::node* paths = table.get("path");
    if (!paths) {
      out_.errors.push_back({spec.origin, "a watch needs a path"});
      return;
    }
    for (const std::string& path : texts(*paths)) {
      spec.text = path;
      spec.of = WatchOf(of);
      spec.code = {};
      if (const std::string problem = set_path(path, spec); !problem.empty()) {
        error(*paths, "path '" + path + "': " + problem);
        continue;
      }
      if (out_.errors.size() == errors_before) out_.watches.push_back(spec);
    }
  }

  std::string_view name_;
  WatchSettings& out_;
};

}  // namespace watch_detail

// The text of a watch file; `name` stands in messages.
inline void read_watch_file(std::string_view text, std::string_view name, WatchSettings& out) {
  toml::parse_result parsed = toml::parse(text, name);
  if (!parsed) {
    out.errors.push_back({std::string(name) + ":" + std::to_string(parsed.error().source().begin.line),
                          std::string(parsed.error().description())});
    return;
  }
  watch_detail::FileReader(name, out).read(parsed.table());
}

// One path from the command line: "model.fc", "inputs:model.fc", "full:model.fc", "full:gradients:model.**",
// "full:train.py:step:loss".
inline void read_watch_path(std::string_view text, std::string_view origin, WatchSettings& out) {
  WatchSpec spec;
  spec.text = text;
  spec.origin = origin;
  for (bool more = true; more;) {
    more = false;
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) break;
    const std::string_view word = text.substr(0, colon);
    for (const watch_detail::Word& each : watch_detail::kOf) {
      if (each.text == word) {
        spec.of = WatchOf(each.value);
        more = true;
      }
    }
    more |= watch_detail::add_kept(word, spec);
    if (!more && (names_file(word) || word == "forward" || word.find('.') != std::string_view::npos)) break;
    if (!more) {
      out.errors.push_back({std::string(origin), "'" + std::string(word) + ":' is unknown; choose from " +
                                                     watch_detail::choices(watch_detail::kOf) + ", " +
                                                     watch_detail::choices(watch_detail::kKeep) +
                                                     ", or write a file such as train.py"});
      return;
    }
    text.remove_prefix(colon + 1);
  }
  if (const std::string problem = watch_detail::set_path(text, spec); !problem.empty()) {
    out.errors.push_back({std::string(origin), "path '" + std::string(text) + "': " + problem});
    return;
  }
  out.watches.push_back(std::move(spec));
}

}  // namespace tensorscope::rules
