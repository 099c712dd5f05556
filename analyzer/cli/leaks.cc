// leaks: what piles up from dump to dump and why, and what one dump alone shows to be kept for too long.
#include "model/leaks.h"

#include "commands/compared_dumps.h"
#include "commands/leaks_text.h"
#include "commands/verb.h"
#include "render/leaks_json.h"

namespace tensorscope::commands {

namespace {

struct LeaksOptions {
  std::vector<std::string> dumps;
  size_t top = 10;
  bool json = false;
  model::Filter filter;
  model::SymbolOptions symbols;
};

int leaks(const LeaksOptions& options, Invocation& invocation) {
  ComparedDumps dumps(options.dumps, options.filter, options.symbols, invocation);
  if (!dumps.same_run()) {
    invocation.say(
        "these dumps are of different runs, and a leak is growth within one: tensorscope diff compares runs.");
    return kBadInput;
  }
  if (const std::string why = dumps.why_nothing(options.filter); !why.empty()) invocation.say(why + ".");
  dumps.leave_out_incomparable(invocation);
  dumps.say_what_has_no_names(invocation);
  const model::Leaks found = model::find_leaks(dumps.views(), options.filter.empty());
  if (options.json) {
    invocation.out += render::leaks_json(dumps.views(), found);
  } else {
    invocation.out += leaks_text(dumps, found, options.top, invocation.terminal);
  }
  return dumps.finish(invocation, found.found() ? kFound : kOk);
}

}  // namespace

void add_leaks(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "leaks", "what piles up from dump to dump, what holds it, and what to look at", leaks);
  verb->add_option("DUMP", options->dumps, "dump files of one run: one, two, or better three and more")
      ->required()
      ->type_name("");
  add_top(*verb, options->top);
  verb->add_flag("--json", options->json, "for other programs (docs/cli/leaks.md)");
  add_filters(*verb, options->filter);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope leaks train.4242.1.tscope train.4242.2.tscope train.4242.3.tscope\n"
      "  tensorscope leaks train.4242.*.tscope --device cuda\n"
      "  tensorscope leaks train.4242.exit.tscope\n"
      "\n"
      "The status is 0 where nothing was found, 1 where something was. One dump shows what needs no growth: cycles,\n"
      "tracebacks, small views of large storages, stray leaves, parameters in two dtypes.");
}

}  // namespace tensorscope::commands
