// watch: looks at what is to be watched before the program runs.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/verb.h"
#include "cli/watch_file.h"

namespace tensorscope::cli {

namespace {

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
      return "results of every operation in calls of modules";
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
    invocation.out +=
        fmt::format("{}: {}, {}, {}\n", watch.path, of_text(watch.of), when_text(watch), kept_text(watch));
  }
  return kOk;
}

}  // namespace

void read_watch_file_at(const std::string& path, rules::WatchSettings& settings) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    settings.errors.push_back({path, strerror(errno)});
    return;
  }
  rules::read_watch_file(text.str(), path, settings);
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
