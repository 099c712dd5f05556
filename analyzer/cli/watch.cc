// SPDX-License-Identifier: Apache-2.0
// watch: looks at what is to be watched before the program runs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "cli/verb.h"
#include "cli/watch_file.h"
#include "tensorscope/rules/watch_argument.h"
#include "tensorscope/rules/watch_file.h"
#include "tensorscope/rules/watch_words.h"

namespace tensorscope::cli {

namespace {

constexpr size_t kLongestLine = 1000;  // that is searched for a definition

struct WatchOptions {
  std::vector<std::string> what;
  bool check = false;
};

const char* of_text(rules::WatchOf of) {
  switch (of) {
    case rules::WatchOf::automatic:
      return "outputs of modules, or the parameter, buffer or gradient of that name";
    case rules::WatchOf::outputs:
      return "outputs of modules";
    case rules::WatchOf::inputs:
      return "inputs of modules";
    case rules::WatchOf::parameters:
      return "parameters";
    case rules::WatchOf::buffers:
      return "buffers";
    case rules::WatchOf::gradients:
      return "gradients of parameters";
    case rules::WatchOf::optimizer_state:
      return "optimizer state of parameters";
    case rules::WatchOf::operations:
      return "results of every operation in calls of modules and in their backward";
    case rules::WatchOf::returns:
      return "what is returned";
    case rules::WatchOf::variables:
      return "variables";
  }
  return "";
}

std::string when_text(const rules::WatchSpec& watch) {
  std::string text = watch.every == 1 ? "every step" : fmt::format("every {} steps", watch.every);
  if (watch.first_step != 0 || watch.last_step != UINT32_MAX) {
    text += watch.last_step == UINT32_MAX ? fmt::format(" from {}", watch.first_step)
                                          : fmt::format(" of {} to {}", watch.first_step, watch.last_step);
  }
  if (watch.mode == rules::WatchMode::train) text += ", in training";
  if (watch.mode == rules::WatchMode::eval) text += ", in evaluation";
  return text;
}

std::string kept_text(const rules::WatchSpec& watch) {
  std::string text;
  const auto add = [&](bool kept, std::string_view what) {
    if (kept) text.append(text.empty() ? "" : ", ").append(what);
  };
  add(watch.statistics, "statistics");
  add(watch.hash, "hash");
  add(watch.norms, "norms per item");
  add(watch.quantiles, "quantiles");
  add(watch.histogram, "histogram");
  add(watch.full, watch.slice.empty() ? "all elements" : "a slice of the elements");
  for (const rules::watch_detail::Word& each : rules::watch_detail::kStore) {
    if (watch.full && each.value == watch.store) text.append(" as ").append(each.text);
  }
  return text;
}

std::string callbacks_text(const rules::WatchSpec& watch) {
  std::string text;
  for (const rules::Callback& each : watch.callbacks) {
    text += fmt::format(", {} {}:{}", rules::kMoments[size_t(each.moment)], each.file, each.function);
  }
  if (watch.gather != 1) text += fmt::format(", gathered for {} steps", watch.gather);
  return text;
}

bool read_whole(const std::string& path, std::string& out) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return false;
  out = text.str();
  return true;
}

// Whether a line of the file gives this name something; `functions`: what it defines itself.
bool defines(const std::string& text, const std::string& name, std::vector<std::string>& functions) {
  static const std::regex definition(R"(^(?:async\s+)?def\s+(\w+).*)");
  const std::regex assigned("(?:.*\\b(?:def|class|import|as)\\s+(?:.*,\\s*)?" + name + "\\b.*|\\s*" + name +
                            "\\b\\s*(?::[^=]*)?=.*|.*\\bimport\\s+\\*.*)");
  std::istringstream lines(text);
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, definition)) functions.push_back(match[1]);
    found |= line.size() < kLongestLine && line.find(name) != std::string::npos && std::regex_match(line, assigned);
  }
  return found;
}

// Files of callbacks are read, not run.
void check_callbacks(const std::string& path, const std::vector<rules::WatchSpec>& watches, size_t first,
                     std::vector<rules::WatchError>& errors) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::set<std::string> checked;
  for (size_t i = first; i < watches.size(); ++i) {
    for (const rules::Callback& each : watches[i].callbacks) {
      const std::string origin = fmt::format("{}:{}", path, each.line), file = folder / each.file;
      if (!checked.insert(fmt::format("{} {}:{}", origin, file, each.function)).second) continue;
      std::string text;
      std::vector<std::string> functions;
      const std::string name = each.function.substr(0, each.function.find('.'));
      if (!read_whole(file, text)) {
        errors.push_back({origin, fmt::format("{}: {}", file, strerror(errno))});
      } else if (!defines(text, name, functions)) {
        errors.push_back(
            {origin, fmt::format("{} has no '{}'{}", file, name,
                                 functions.empty() ? "" : fmt::format("; it has {}", fmt::join(functions, ", ")))});
      }
    }
  }
}

int watch(const WatchOptions& options, Invocation& invocation) {
  rules::WatchSettings settings;
  for (const std::string& text : options.what) {
    if (text.ends_with(".toml")) {
      read_watch_file_at(text, settings);
    } else {
      rules::read_watch_path(text, "watch", settings);
    }
  }
  for (const rules::WatchError& error : settings.errors) invocation.say(error.origin + ": " + error.what);
  if (!settings.errors.empty()) return kBadInput;
  for (const rules::WatchSpec& watch : settings.watches) {
    invocation.out += fmt::format("{}: {}, {}, {}{}\n", watch.path, of_text(watch.of), when_text(watch),
                                  kept_text(watch), callbacks_text(watch));
  }
  return kOk;
}

}  // namespace

void read_watch_file_at(const std::string& path, rules::WatchSettings& settings) {
  std::string text;
  if (!read_whole(path, text)) {
    settings.errors.push_back({path, strerror(errno)});
    return;
  }
  const size_t first = settings.watches.size();
  rules::read_watch_file(text, path, settings);
  check_callbacks(path, settings.watches, first, settings.errors);
}

void add_watch(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "watch", "check what `run --watch` would record", watch);
  verb->add_option("WHAT", options->what, "paths, or a watch file (.toml)")->required()->type_name("");
  verb->add_flag("--check", options->check, "only check: this is what the verb does anyway");
  verb->footer(
      "Examples:\n"
      "  tensorscope watch --check watch.toml\n"
      "  tensorscope watch 'model.layers.*.attn' 'gradients:model.**'\n"
      "\n"
      "Exit status: 0 all is well, 2 an error, with its line and reason. docs/watch.md has the grammar.");
}

}  // namespace tensorscope::cli
