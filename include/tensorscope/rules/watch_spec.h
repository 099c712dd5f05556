// SPDX-License-Identifier: Apache-2.0
// What is to be watched, and what is to be kept of it: what a watch file and `--watch` say (watch_file.h,
// watch_argument.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
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

}  // namespace tensorscope::rules
