// SPDX-License-Identifier: Apache-2.0
// The screen of `top`: what a running program holds now, and how it grows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/terminal.h"

namespace tensorscope::top {

struct TopRow {
  std::string label;
  uint64_t bytes = 0, tensors = 0;
  int64_t growth = 0;  // bytes since the mark
};

struct TopDevice {
  std::string name;
  uint64_t live = 0, peak = 0, reserved = 0;
};

// What it costs the program.
struct TopCost {
  uint64_t paused_ns = 0;  // a refresh: threads that allocate waited at most
  uint64_t gil_ns = 0;     // a look at names: with Python's lock
  uint64_t all() const { return paused_ns + gil_ns; }
};

// Names that were looked up for an earlier refresh.
struct TopNames {
  uint64_t age_ns = 0;
  uint64_t newer = 0;  // tensors made since then
};

struct TopHead {
  std::string process;
  uint64_t live = 0, tensors = 0;
  int64_t growth = 0;
  std::optional<uint64_t> mark_age_ns;  // none: this is the mark
  std::vector<TopDevice> devices;
  TopCost cost;
  uint64_t interval_ns = 0;
  bool slowed = false;             // the interval is longer than the requested one
  uint64_t names_interval_ns = 0;  // between looks at names; no longer than the interval: at each refresh
  std::optional<TopNames> names;   // none: this refresh has names of its own
  std::string by, sort, filter;
  size_t rows = 0, first = 0, shown = 0;  // of how many rows which are shown
};

// Lines above the table.
std::vector<std::string> top_head(const TopHead& head, const text::Terminal& terminal);
// The first line has the titles.
std::vector<std::string> top_table(const std::vector<TopRow>& rows, uint64_t total, const std::string& by,
                                   const text::Terminal& terminal);
// Which keys do what, fit for `width`.
std::string top_keys(int width);

}  // namespace tensorscope::top
