// SPDX-License-Identifier: Apache-2.0
// What of the program's source code a watch names: a variable of a function, a variable at a line, what a function
// returns. docs/watch-code.md has the grammar.
//
// Context: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorscope/rules/watch_path.h"

namespace tensorscope::rules {

struct CodePath {
  std::vector<std::string> file;      // pattern of the file's path; empty: a method of modules
  std::vector<std::string> module;    // pattern of their paths
  std::vector<std::string> function;  // pattern of the qualified name, without "<locals>"; empty: a line
  uint32_t line = 0;                  // 0: all of the function
  std::string variable;               // pattern; "": what is returned
  std::vector<std::string> within;    // pattern of keys, indexes and attributes
};

namespace code_path_detail {

// Between colons; those within brackets are a key's.
inline std::vector<std::string_view> parts(std::string_view text) {
  std::vector<std::string_view> all;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i == text.size() || (text[i] == ':' && depth <= 0)) {
      all.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return all;
}

inline std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> all;
  while (true) {
    const size_t end = text.find(at);
    if (const std::string_view part = text.substr(0, end); !part.empty()) all.emplace_back(part);
    if (end == std::string_view::npos) return all;
    text.remove_prefix(end + 1);
  }
}

inline bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A name of Python, or a pattern of names. Letters beyond ASCII are taken as they are.
inline bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
    if (!letter && c != '_' && c != '*') return false;
  }
  return true;
}

inline std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

inline std::string read_function(std::string_view text, std::vector<std::string>& out) {
  for (std::string& name : split(text, '.')) {
    if (name == "<locals>") continue;
    if (!is_name(name) && name != "<module>" && name != "<lambda>")
      return in_quotes(name) + " is no name of a function";
    out.push_back(std::move(name));
  }
  return out.empty() ? "a function's name is missing" : "";
}

inline std::string read_variable(std::string_view text, CodePath& out) {
  int depth = 0;
  for (const char c : text) {
    depth += (c == '[') - (c == ']');
    if (depth < 0) return "']' without '['";
  }
  if (depth != 0) return "'[' without ']'";
  std::vector<std::string> segments = path_segments(text);
  if (segments.empty()) return "a variable's name is missing";
  if (!is_name(segments[0])) return in_quotes(segments[0]) + " is no name of a variable";
  out.variable = std::move(segments[0]);
  out.within.assign(segments.begin() + 1, segments.end());
  for (size_t i = 0; i + 1 < out.within.size(); ++i) {
    if (out.within[i] == "**") return "'**' behind a variable must be the last";
  }
  return "";
}

}  // namespace code_path_detail

// The parts of a file's path or of a pattern of such; a pattern that does not begin at the root fits at any depth.
inline std::vector<std::string> file_segments(std::string_view path) { return code_path_detail::split(path, '/'); }

inline bool names_file(std::string_view text) {
  return text.ends_with(".py") || text.find('/') != std::string_view::npos || text.starts_with('<') || text == "*" ||
         text == "**";
}

// "model.layers.*.attn.forward" and what may follow: no child of a module can have this name.
inline size_t forward_segment(const std::vector<std::string>& segments) {
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i] == "forward") return i;
  }
  return segments.size();
}

inline bool is_code_path(std::string_view path) {
  const std::vector<std::string> segments = path_segments(path);
  return code_path_detail::parts(path).size() > 1 || forward_segment(segments) != segments.size();
}

// What is wrong with it, "" for nothing. `returns`: the watch says that it wants what is returned.
inline std::string read_code_path(std::string_view path, bool returns, CodePath& out) {
  using namespace code_path_detail;
  out = {};
  const std::vector<std::string_view> all = parts(path);
  for (const std::string_view part : all) {
    if (part.empty()) return "nothing stands before, behind or between colons";
  }
  if (!names_file(all[0])) {
    if (all.size() > 2) return in_quotes(all[0]) + " is no file of Python";
    std::vector<std::string> segments = path_segments(all[0]);
    size_t method = segments.size() - 1;
    if (all.size() == 1 && !returns) method = forward_segment(segments);
    if (method >= segments.size() || !is_name(segments[method])) return "the method's name is missing";
    out.module.assign(segments.begin(), segments.begin() + std::ptrdiff_t(method));
    if (out.module.empty()) out.module = {"*"};
    out.function = {segments[method]};
    if (all.size() == 2) {
      if (const std::string problem = read_variable(all[1], out); !problem.empty()) return problem;
    } else if (method + 1 < segments.size()) {
      std::string rest = segments[method + 1];
      for (size_t i = method + 2; i < segments.size(); ++i) rest += "[" + segments[i] + "]";
      if (const std::string problem = read_variable(rest, out); !problem.empty()) return problem;
    }
  } else {
    if (all.size() > 3) return "too many colons: FILE:FUNCTION:VARIABLE or FILE:LINE:VARIABLE";
    out.file = file_segments(all[0]);
    if (all[0][0] != '/') out.file.insert(out.file.begin(), "**");
    if (all.size() < 2) return "a function is missing: " + std::string(all[0]) + ":FUNCTION";
    if (is_number(all[1])) {
      if (all.size() < 3) return "a line needs a variable: " + std::string(path) + ":VARIABLE";
      if (all[1].size() > 8) return "no file has that many lines";
      for (const char c : all[1]) out.line = out.line * 10 + uint32_t(c - '0');
      if (out.line == 0) return "lines are counted from 1";
    } else if (const std::string problem = read_function(all[1], out.function); !problem.empty()) {
      return problem;
    }
    if (all.size() == 3) {
      if (const std::string problem = read_variable(all[2], out); !problem.empty()) return problem;
    }
  }
  if (returns && !out.variable.empty()) return "what is returned is no variable";
  return "";
}

}  // namespace tensorscope::rules
