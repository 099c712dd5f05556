// SPDX-License-Identifier: Apache-2.0
// compare: two values files: the first step, module call and tensor where two runs part, and how it goes on from there.
#include <fmt/format.h>

#include <cmath>

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "export/json/comparison.h"
#include "text/values/comparison.h"

namespace tensorscope::cli {

namespace {

struct CompareOptions {
  std::string a, b;
  std::vector<std::string> renames;
  values::ChosenTolerance tolerance;
  bool json = false;
  size_t top = 10;
};

bool read_renames(const CompareOptions& options, std::vector<values::Rename>& renames, Invocation& invocation) {
  for (const std::string& text : options.renames) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      invocation.say(fmt::format("invalid value '{}' for --rename; write FROM=TO, such as --rename net=model", text));
      return false;
    }
    renames.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return true;
}

int compare(const CompareOptions& options, Invocation& invocation) {
  text::CompareText how{.terminal = invocation.terminal, .top = options.top};
  if (!read_renames(options, how.renames, invocation)) return kBadInput;
  const values::ValuesFile a(options.a), b(options.b);
  const values::RunComparison runs = values::compare_runs(a, b, how.renames, options.tolerance);
  bool sound = true;
  for (const values::ValuesFile* file : {&a, &b}) {
    for (const std::string& problem : file->problems()) {
      invocation.say(problem);
      sound = false;
    }
  }
  if (runs.nothing()) {
    invocation.say(text::nothing_compared(runs, a, b));
    return kBadInput;
  }
  invocation.out += options.json ? exports::compare_json(runs, a, b) : text::compare_text(runs, a, b, how);
  return !sound ? kBadInput : runs.equal() ? kOk : kFound;
}

void add_tolerance(CLI::App& verb, const char* name, std::optional<double>& value, const char* help) {
  verb.add_option(name, value, help)->check(CLI::Range(0.0, 1e300).description(""))->type_name("NUMBER");
}

}  // namespace

void add_compare(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "compare",
                                  "compare two runs: the first step, module call and tensor that differ", compare);
  verb->add_option("A", options->a, "the values file of one run")->required()->type_name("");
  verb->add_option("B", options->b, "the values file of the other run")->required()->type_name("");
  add_tolerance(*verb, "--rtol", options->tolerance.relative,
                "relative tolerance of floating-point numbers. Default: by the coarser dtype, float32: 1e-5");
  add_tolerance(*verb, "--atol", options->tolerance.absolute,
                "absolute tolerance of floating-point numbers. Default: by the coarser dtype, float32: 1e-8");
  verb->add_option("--rename", options->renames, "names that begin with FROM begin with TO, in both files; repeatable")
      ->type_name("FROM=TO")
      ->allow_extra_args(false);
  add_top(*verb, options->top);
  verb->add_flag("--json", options->json, "output JSON (docs/cli/compare.md)");
  verb->footer(
      "Examples:\n"
      "  tensorscope compare before.values after.values\n"
      "  tensorscope compare a.values b.values --rename net=model --rename net.core=model.body\n"
      "  tensorscope compare a.values b.values --rtol 0 --atol 0        bit for bit where elements or hashes are "
      "there\n"
      "\n"
      "Exit status: 0 equal, 1 different, 2 invalid usage, a damaged file, or nothing to compare.");
}

}  // namespace tensorscope::cli
