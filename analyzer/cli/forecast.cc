// SPDX-License-Identifier: Apache-2.0
// forecast: the peak at other sizes, from runs at two or more.
#include "forecast/forecast.h"

#include <fmt/format.h>

#include <charconv>

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "dump/reader.h"
#include "export/json/forecast.h"
#include "text/forecast/report.h"

namespace tensorscope::cli {

namespace {

namespace forecasts = analyzer::forecast;

struct ForecastOptions {
  std::vector<std::string> inputs, vary, set, checkpoint;
  std::string device, dtype, optimizer;
  std::optional<uint64_t> limit;
  int ranks = 1;
  size_t top = 10;
  bool json = false;
  analyzer::SymbolOptions symbols;
};

// "batch=8,16"; throws BadInput.
std::pair<std::string, std::vector<int64_t>> named_numbers(const std::string& option, const std::string& text) {
  const size_t equals = text.find('=');
  std::pair<std::string, std::vector<int64_t>> result{text.substr(0, equals), {}};
  bool good = equals != std::string::npos && equals != 0;
  for (size_t at = equals + 1; good && at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, value);
    good = error == std::errc{} && stop == text.data() + end && value >= 1;
    result.second.push_back(value);
    at = end + 1;
  }
  if (!good) {
    throw analyzer::BadInput(fmt::format("invalid value '{}' for {}; write NAME={}, with numbers of 1 or more.", text,
                                         option, option == "--vary" ? "NUMBER,NUMBER" : "NUMBER"));
  }
  return result;
}

std::vector<std::pair<std::string, forecasts::Scenario>> scenarios_of(const ForecastOptions& options) {
  std::vector<std::pair<std::string, forecasts::Scenario>> result;
  forecasts::Scenario all;
  if (options.dtype == "autocast") {
    all.autocast = true;
    result.push_back({"under autocast", {.autocast = true}});
  } else if (!options.dtype.empty()) {
    all.dtype = options.dtype;
    result.push_back({"model and inputs in " + options.dtype, {.dtype = options.dtype}});
  }
  for (const std::string& modules : options.checkpoint) {
    all.checkpointed.push_back(modules);
    result.push_back({"checkpointing of " + modules, {.checkpointed = {modules}}});
  }
  if (!options.optimizer.empty()) {
    all.optimizer = forecasts::optimizer_named(options.optimizer);
    result.push_back({"with " + options.optimizer, {.optimizer = all.optimizer}});
  }
  if (options.ranks > 1) {
    all.ranks = options.ranks;
    result.push_back({fmt::format("sharded over {} ranks", options.ranks), {.ranks = options.ranks}});
  }
  if (result.size() > 1) result.emplace_back("all of these", all);
  return result;
}

int forecast(const ForecastOptions& options, Invocation& invocation) {
  forecasts::Question question;
  question.limit = options.limit;
  question.scenarios = scenarios_of(options);
  for (const std::string& text : options.vary) {
    auto [name, values] = named_numbers("--vary", text);
    question.told.push_back({name, std::move(values), false});
  }
  for (const std::string& text : options.set) {
    const auto [name, values] = named_numbers("--set", text);
    question.set.emplace_back(name, values.front());
  }
  forecasts::KeyPool keys;
  std::vector<forecasts::Sample> samples;
  for (const std::string& path : options.inputs) {
    samples.push_back(forecasts::read_sample(path, options.device, options.symbols, keys));
  }
  forecasts::add_read_keys(samples, keys);
  const forecasts::Answer answer = forecasts::answer(samples, question);
  if (options.json) {
    invocation.out += exports::forecast_json(samples, answer, question);
  } else {
    invocation.out += text::forecast_text({samples, answer, question}, options.top, invocation.terminal);
  }
  int status = kOk;
  for (const forecasts::Sample& sample : samples) {
    for (const std::string& problem : sample.problems) invocation.say(problem);
    if (!sample.problems.empty()) status = kBadInput;
  }
  return status;
}

}  // namespace

void add_forecast(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "forecast",
                                  "the peak at other sizes, and what fits, from runs at two or more", forecast);
  verb->add_option("FILE", options->inputs, "recordings or dumps of one program at different sizes; two or more")
      ->required()
      ->type_name("");
  verb->add_option("--vary", options->vary,
                   "a size and what it was in each input: batch=8,16 (repeatable). Default: found in the shapes of "
                   "tensors")
      ->type_name("NAME=N,N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--set", options->set, "the size to forecast: batch=64 (repeatable). Default: twice the largest")
      ->type_name("NAME=N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_size(*verb, "--device-memory", options->limit,
           "device memory, e.g. 80GiB; reports what fits and the first allocation that does not");
  verb->add_option("--device", options->device, "the device: cuda:1, cpu. Default: the one with the highest peak")
      ->type_name("DEVICE");
  verb->add_option("--as", options->dtype,
                   "what if: model and inputs in bfloat16 or float16; autocast: the forward pass alone")
      ->check(CLI::IsMember({"bfloat16", "float16", "autocast"}).description(""))
      ->type_name("DTYPE");
  verb->add_option("--checkpoint", options->checkpoint,
                   "what if: torch.utils.checkpoint around these modules: 'model.layers.*' (repeatable)")
      ->type_name("MODULES")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--optimizer", options->optimizer,
                   "what if: this optimizer of torch.optim: sgd, momentum, adam, adamw, rmsprop or adagrad")
      ->check(CLI::IsMember(forecasts::optimizer_names()).description(""))
      ->type_name("NAME");
  verb->add_option("--ranks", options->ranks, "what if: parameters, gradients and optimizer state sharded over N ranks")
      ->check(CLI::Range(1, 1 << 20).description(""))
      ->type_name("N");
  add_top(*verb, options->top);
  verb->add_flag("--json", options->json, "output JSON (docs/cli/forecast.md)");
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope run --record -- python train.py --batch 8     (and again with --batch 16)\n"
      "  tensorscope forecast train.1.recording train.2.recording --set batch=64 --device-memory 80GiB\n"
      "  tensorscope forecast A B C --vary batch=8,16,8 --vary sequence=128,128,256 --set batch=64 --set "
      "sequence=2048\n"
      "  tensorscope forecast A B --set batch=64 --as bfloat16 --checkpoint 'model.layers.*'\n"
      "\n"
      "Two sizes that vary need three inputs. A few steps of each run are enough; the second step has the optimizer's "
      "state.");
}

}  // namespace tensorscope::cli
