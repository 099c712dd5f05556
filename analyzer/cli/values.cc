// SPDX-License-Identifier: Apache-2.0
// values: what a program's tensors held over time, from its values files.
#include "export/json/values.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/dump_options.h"
#include "cli/values_follow.h"
#include "cli/values_plot.h"
#include "cli/verb.h"
#include "dump/reader.h"
#include "text/choice_words.h"
#include "text/values/report.h"
#include "values/values_file.h"

namespace tensorscope::cli {

namespace {

using values::Stat;
using values::Value;

struct ValuesOptions {
  std::vector<std::string> files;
  values::ValueFilter filter;
  std::vector<std::string> names;
  std::vector<Stat> stats;
  std::string show;
  size_t top = 50;
  bool json = false, follow = false;
  ValuesExportOptions output;
  ValuesPlotOptions plot;
};

int finish_values(const text::ValuesFiles& files, Invocation& invocation) {
  bool sound = true;
  for (const auto& file : files) {
    for (const std::string& problem : file->problems()) {
      invocation.say(problem);
      sound = false;
    }
  }
  return sound ? kOk : kBadInput;
}

// The first pattern that no name of any file matches; null where all do.
const std::string* unknown_name(const std::vector<std::string>& patterns, const std::vector<std::string>& names) {
  for (const std::string& pattern : patterns) {
    values::ValueFilter one;
    one.add_name(pattern);
    if (std::none_of(names.begin(), names.end(), [&](const std::string& name) { return one.takes_name(name); })) {
      return &pattern;
    }
  }
  return nullptr;
}

bool names_exist(const text::ValuesFiles& files, const std::vector<std::string>& patterns, Invocation& invocation) {
  if (patterns.empty()) return true;
  const std::vector<std::string> names = values::names_of(files);
  const std::string* unknown = unknown_name(patterns, names);
  if (unknown == nullptr) return true;
  std::string near = text::did_you_mean(*unknown, names);
  if (near.empty() && !names.empty()) near = "; there are " + text::listed(names);
  invocation.say("no value is named '" + *unknown + "'" + near + (near.ends_with('?') ? "" : "."));
  return false;
}

int nothing_fits(Invocation& invocation) {
  invocation.say("no value fits --step, --mode and --index.");
  return kBadInput;
}

int list_values(const text::ValuesFiles& files, const ValuesOptions& options, Invocation& invocation) {
  const Stat stat = options.stats.empty() ? Stat::mean : options.stats.front();
  const std::vector<values::NameRow> rows = values::name_rows(files, options.filter, stat);
  if (rows.empty() && (options.filter.has_names() || options.filter.mode || options.filter.steps.last != UINT32_MAX)) {
    return nothing_fits(invocation);
  }
  invocation.out += options.json ? exports::values_json(files, rows, options.top)
                                 : text::values_listing(files, rows, stat, options.top, invocation.terminal);
  return finish_values(files, invocation);
}

int list_statistics(const text::ValuesFiles& files, const ValuesOptions& options, Invocation& invocation) {
  std::vector<text::StatRow> rows;
  uint64_t left_out = 0;
  for (size_t file = 0; file < files.size(); ++file) {
    values::NameCache names(options.filter);
    files[file]->for_each_value([&](const Value& value) {
      if (!names.takes(value)) return true;
      if (options.top != 0 && rows.size() >= options.top) {
        ++left_out;
      } else {
        rows.push_back({file, value, values::statistics_of(*files[file], value)});
      }
      return true;
    });
  }
  if (rows.empty()) return nothing_fits(invocation);
  std::stable_sort(rows.begin(), rows.end(), [](const text::StatRow& a, const text::StatRow& b) {
    return std::make_pair(a.value.step, a.value.pass) < std::make_pair(b.value.step, b.value.pass);
  });
  invocation.out += options.json ? exports::statistics_json(files, rows)
                                 : text::statistics_table(files, rows, options.stats, left_out, invocation.terminal);
  return finish_values(files, invocation);
}

int show_value(const text::ValuesFiles& files, const ValuesOptions& options, Invocation& invocation) {
  std::optional<Value> found;
  size_t found_in = 0;
  uint64_t fit = 0;
  for (size_t file = 0; file < files.size(); ++file) {
    values::NameCache names(options.filter);
    files[file]->for_each_value([&](const Value& value) {
      if (!names.takes(value)) return true;
      ++fit;
      found = value;  // the last one
      found_in = file;
      return true;
    });
  }
  if (!found) return nothing_fits(invocation);
  invocation.out += options.json ? exports::value_json(files, found_in, *found)
                                 : text::value_text(files, found_in, *found, fit - 1, invocation.terminal);
  return finish_values(files, invocation);
}

int run_values(const ValuesOptions& options, Invocation& invocation) {
  const text::ValuesFiles files = values::open_files(options.files);
  std::vector<std::string> names = options.names;
  if (!options.show.empty()) names.push_back(options.show);
  if (!options.follow && !names_exist(files, names, invocation)) return kBadInput;
  ValuesOptions chosen = options;
  for (const std::string& name : names) chosen.filter.add_name(name);
  if (options.follow) {
    static const std::vector<Stat> kUsual = {Stat::mean, Stat::std, Stat::absmax};
    return follow_values(files, chosen.filter, options.stats.empty() ? kUsual : options.stats, options.output,
                         invocation);
  }
  if (!options.plot.output.empty()) {
    ValuesPlotOptions plot = options.plot;
    plot.top = options.top;
    plot.force = options.output.force;
    const std::vector<Stat> stats = options.stats.empty() ? std::vector<Stat>{Stat::mean} : options.stats;
    const int status = plot_values(files, chosen.filter, stats, plot, invocation);
    return status == kOk ? finish_values(files, invocation) : status;
  }
  if (!options.output.output.empty()) {
    const int status = export_values(files, chosen.filter, options.output, invocation);
    return status == kOk ? finish_values(files, invocation) : status;
  }
  if (!options.show.empty()) return show_value(files, chosen, invocation);
  if (!options.stats.empty()) return list_statistics(files, chosen, invocation);
  return list_values(files, chosen, invocation);
}

std::vector<std::string> stat_words() {
  std::vector<std::string> words;
  for (const values::StatWord& each : values::kStatWords) words.emplace_back(each.word);
  return words;
}

}  // namespace

void add_values(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "values", "what tensors held over time", run_values);
  verb->add_option("FILE", options->files, "values files, of one process or of several ranks")
      ->required()
      ->type_name("");
  verb->add_option("--name", options->names,
                   "only these names: * for one segment, ** for any number, 'name*' for a beginning; repeatable")
      ->type_name("PATTERN")
      ->expected(1)
      ->take_all();
  verb->add_option_function<std::string>(
          "--step",
          [options = options](const std::string& text) {
            const auto steps = values::parse_steps(text);
            if (!steps)
              throw CLI::ValidationError("invalid value '" + text +
                                         "' for --step; steps look like 10, 10-20, 10-, -20");
            options->filter.steps = *steps;
          },
          "only these steps: 10, 10-20, 10-, -20")
      ->type_name("A[-B]");
  add_choice(*verb, "--mode", options->filter.mode,
             {{"train", std::optional(format::StepMode::train)}, {"eval", std::optional(format::StepMode::eval)}},
             "only values taken in this mode: train, eval")
      ->type_name("MODE");
  verb->add_option_function<std::vector<std::string>>(
          "--stat",
          [options = options](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              const auto* found = std::find_if(std::begin(values::kStatWords), std::end(values::kStatWords),
                                               [&](const values::StatWord& each) { return each.word == word; });
              if (found == std::end(values::kStatWords)) {
                throw CLI::ValidationError(text::invalid_choice("--stat", word, stat_words()));
              }
              options->stats.push_back(found->stat);
            }
          },
          "statistics of each value, one row a value: " + text::listed(stat_words()))
      ->type_name("A,B,...")
      ->delimiter(',');
  verb->add_option("--show", options->show, "one value with its elements; the last one where several fit")
      ->type_name("NAME");
  verb->add_option_function<uint32_t>(
          "--index", [options = options](const uint32_t& index) { options->filter.index = index; },
          "only the value of this number in its pass, from 0")
      ->type_name("I");
  add_top(*verb, options->top);
  verb->add_flag("--json", options->json, "JSON (docs/json.md)");
  verb->add_option("--export", options->output.output,
                   "write the values: OUT.npz, OUT.npy (one name), OUT/ (a folder of .npy), OUT.safetensors, OUT.h5, "
                   "OUT.csv, OUT.parquet")
      ->type_name("OUT");
  verb->add_option("--plot", options->plot.output,
                   "draw statistics over steps, a chart for each name: OUT.svg, OUT.html, OUT.png (with Graphviz)")
      ->type_name("OUT");
  verb->add_flag("--follow", options->follow,
                 "show values as they are written, until the program ends; with --export OUT.h5: add them there");
  verb->add_option("--compress", options->output.compress, "level of compression in OUT.h5, 0 to 9. Default: 0")
      ->check(CLI::Range(0, 9).description(""))
      ->type_name("N");
  verb->add_flag("--force", options->output.force, "overwrite OUT");
  verb->footer(
      "Examples:\n"
      "  tensorscope values train.4242.values\n"
      "  tensorscope values train.4242.values --name 'model.layers.*.attn' --stat mean,std --step 100-200\n"
      "  tensorscope values train.4242.values --show model.fc --step 100\n"
      "  tensorscope values train.4242.values --export out.h5\n"
      "  tensorscope values rank*.values");
}

}  // namespace tensorscope::cli
