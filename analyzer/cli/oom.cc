// SPDX-License-Identifier: Apache-2.0
// oom: what happened when memory ran out, or how a device stands: who has it, and what would make room.
#include "export/json/oom.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "dump/reader.h"
#include "memory/filter_values.h"
#include "memory/taken_names.h"
#include "oom/earlier_names.h"
#include "oom/oom_analysis.h"
#include "recording/moment.h"
#include "text/dump/holders.h"
#include "text/oom/report.h"

namespace tensorscope::cli {

namespace {

struct OomOptions {
  std::string dump, earlier, device;
  size_t top = 5;
  bool json = false, no_glossary = false, full_stacks = false;
  analyzer::SymbolOptions symbols;
};

// The device that --device names. Throws analyzer::BadInput where the dump knows nothing of it.
// Of which the dump says anything.
std::vector<analyzer::Device> devices_of(const analyzer::Dump& dump) {
  std::vector<analyzer::Device> devices{{0, -1}};
  const auto add = [&](analyzer::Device device) {
    if (device.type >= 0 && std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  };
  for (const analyzer::DeviceTotal& total : dump.totals.devices) add(total.device);
  for (const analyzer::DeviceMemory& memory : dump.device_memory) add(memory.device);
  return devices;
}

// A dump without names gets those of an earlier one of the run: the one that was given, else one beside it.
std::vector<analyzer::Dump> read(const OomOptions& options) {
  std::vector<analyzer::Dump> dumps;
  if (!options.earlier.empty()) dumps.push_back(analyzer::read_dump_or_moment(options.earlier));
  dumps.push_back(analyzer::read_dump_or_moment(options.dump));
  analyzer::Dump& dump = dumps.back();
  if (!analyzer::oom::lacks_names(dump)) return dumps;
  if (dumps.size() > 1 && analyzer::same_run(dumps.front(), dump)) analyzer::take_names(dump, dumps.front());
  const std::optional<analyzer::Dump> beside = analyzer::oom::earlier_with_names(dump);
  if (beside) analyzer::take_names(dump, *beside);
  return dumps;
}

int oom(const OomOptions& options, Invocation& invocation) {
  analyzer::ComparedDumps dumps(read(options), {}, options.symbols);
  report_new_order(invocation, dumps);
  if (!dumps.same_run()) {
    invocation.say("the dumps are of different runs; oom needs dumps of one run. tensorscope diff compares runs.");
    return kBadInput;
  }
  const analyzer::Dump& dump = dumps.last().dump;
  const analyzer::Device device = options.device.empty()
                                      ? analyzer::oom::subject_of(dump)
                                      : analyzer::device_named(options.device, devices_of(dump), dump.path);
  const std::vector<analyzer::View> unfiltered = dumps.unfiltered_views();
  dumps.select({.devices = {device.text()}});
  const analyzer::oom::OomAnalysis analysis = analyzer::oom::oom_analysis_of(unfiltered, dumps.views(), device);

  if (options.json) {
    const size_t shown = options.top == 0 ? analysis.places.size() : std::min(options.top, analysis.places.size());
    std::vector<std::string> held;
    for (size_t i = 0; i < shown; ++i) held.push_back(text::held_by(dumps.last(), analysis.places[i]));
    invocation.out += exports::oom_json(unfiltered, analysis, held);
  } else {
    const text::OomTextOptions how{options.top, options.full_stacks, !options.no_glossary};
    invocation.out += oom_text(dumps, analysis, how, invocation.terminal);
  }
  return finish(invocation, dumps, kOk);
}

}  // namespace

void add_oom(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "oom", "out-of-memory report: what holds the memory, and what to free", oom);
  verb->add_option("DUMP", options->dump, "the dump written at the failure, or any other dump")
      ->required()
      ->type_name("");
  verb->add_option("EARLIER_DUMP", options->earlier, "an earlier dump of the same run, to show growth")->type_name("");
  verb->add_option("--device", options->device, "report on this device: cuda:1, cpu. Default: the device that failed")
      ->type_name("DEVICE");
  add_top(*verb, options->top);
  add_full_stacks(*verb, options->full_stacks);
  verb->add_flag("--no-glossary", options->no_glossary, "do not print the glossary");
  verb->add_flag("--json", options->json, "output JSON (docs/cli/oom.md)");
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope oom train.4242.oom-1.tscope\n"
      "  tensorscope oom train.4242.oom-1.tscope train.4242.1.tscope\n"
      "  tensorscope oom train.4242.1.tscope --device cuda:1 --no-glossary\n"
      "\n"
      "Sums match the allocator's own totals to the byte; a remainder is shown as 'unexplained'.");
}

}  // namespace tensorscope::cli
