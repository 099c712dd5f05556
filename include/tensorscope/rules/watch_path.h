// SPDX-License-Identifier: Apache-2.0
// Names of values as paths, and patterns of them: what a watch says, and what `tensorscope values --name` takes.
//
// Context: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tensorscope::rules {

// A path in segments: "model.layers[0]['x'].attn" and "model.layers.0.x.attn" are the same.
inline std::vector<std::string> path_segments(std::string_view path) {
  std::vector<std::string> segments;
  std::string now;
  bool open = false;  // a segment that may be empty is not one
  const auto end_segment = [&] {
    if (open) segments.push_back(std::move(now));
    now.clear();
    open = false;
  };
  for (size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c == '.') {
      end_segment();
    } else if (c == '[') {
      end_segment();
      const size_t close = path.find(']', i);
      if (close == std::string_view::npos) {
        now = path.substr(i);
        open = true;
        break;
      }
      std::string_view key = path.substr(i + 1, close - i - 1);
      if (key.size() >= 2 && (key.front() == '\'' || key.front() == '"') && key.back() == key.front()) {
        key = key.substr(1, key.size() - 2);
      }
      segments.emplace_back(key);
      i = close;
    } else {
      now += c;
      open = true;
    }
  }
  end_segment();
  return segments;
}

// One segment against one of a pattern: `*` stands for any characters.
inline bool segment_matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

enum class PathMatch : uint8_t {
  no,
  begins,  // a longer path could match
  whole,
};

// `**` in a pattern stands for any number of segments, `*` for one, `name*` for one that begins so.
inline PathMatch match_path(const std::vector<std::string>& pattern, const std::vector<std::string>& path, size_t p = 0,
                            size_t i = 0) {
  PathMatch best = PathMatch::no;
  for (; p < pattern.size(); ++p, ++i) {
    if (pattern[p] == "**") {
      for (size_t skip = i; skip <= path.size(); ++skip) {
        const PathMatch rest = match_path(pattern, path, p + 1, skip);
        if (rest > best) best = rest;
        if (best == PathMatch::whole) return best;
      }
      return PathMatch::begins;
    }
    if (i == path.size()) return PathMatch::begins;
    if (!segment_matches(pattern[p], path[i])) return PathMatch::no;
  }
  return i == path.size() ? PathMatch::whole : PathMatch::no;
}

}  // namespace tensorscope::rules
