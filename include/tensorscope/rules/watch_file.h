// SPDX-License-Identifier: Apache-2.0
// Reads a watch file.
//
// Context: run_or_abandon_on_oom() in the preload. toml++ without exceptions.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorscope/rules/watch_path.h"
#include "tensorscope/rules/watch_spec.h"
#include "tensorscope/rules/watch_words.h"

namespace tensorscope::rules {

namespace watch_detail {

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

}  // namespace tensorscope::rules
