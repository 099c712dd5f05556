// export: a dump for other programs, as JSON, CSV, folded stacks, a memory viewer's snapshot or an SQLite database; a
// file appears whole or not at all.
#include "export/export.h"

#include <fmt/format.h>

#include <cstring>
#include <sstream>

#include "cli/dump_options.h"
#include "cli/replaced_file.h"
#include "cli/verb.h"
#include "tables/database.h"

namespace tensorscope::cli {

namespace {

enum class ExportFormat { json, csv, folded, memory_viz, sqlite };

struct ExportVerbOptions {
  std::vector<std::string> dumps;
  ExportFormat format = ExportFormat::json;
  std::string output = "-";
  bool force = false;
  bool full_stacks = false;
  bool stacks_by_id = false;
  analyzer::SymbolOptions symbols;
};

void write_export(analyzer::OpenedDump& opened, const ExportVerbOptions& options, std::ostream& out) {
  exports::ExportOptions how;
  how.full_stacks = options.full_stacks;
  how.stacks_in_tensors = !options.stacks_by_id;
  for (uint32_t i = 0; i < opened.dump.tensors.size(); ++i) {
    how.categories.emplace_back(analyzer::text(opened.holders.category(i)));
  }
  how.holders = &opened.holders;
  switch (options.format) {
    case ExportFormat::json:
      return exports::export_json(opened.dump, opened.symbols, out, how);
    case ExportFormat::csv:
      return exports::export_csv(opened.dump, opened.symbols, out, how);
    case ExportFormat::folded:
      return exports::export_folded(opened.dump, opened.symbols, out, how);
    case ExportFormat::memory_viz:
      return exports::export_memory_viz(opened.dump, opened.symbols, out, how);
    case ExportFormat::sqlite:
      return;
  }
}

int cannot_write(const ExportVerbOptions& options, const std::string& why, Invocation& invocation) {
  invocation.say(fmt::format("cannot write {}: {}.", options.output, why));
  return kBadInput;
}

// The tables of docs/tables.md, of any number of files.
int export_tables(const ExportVerbOptions& options, Invocation& invocation) {
  if (options.output == "-") {
    invocation.say("--format sqlite writes a file; name it with -o.");
    return kBadInput;
  }
  if (!may_write(options.output, options.force, invocation)) return kBadInput;
  tables::Inputs inputs(options.dumps, options.symbols);
  ReplacedFile file(options.output);
  if (file.error() != 0) return cannot_write(options, strerror(file.error()), invocation);
  try {
    tables::Database(file.temporary()).fill_all(inputs);
  } catch (const tables::DatabaseError& error) {
    return cannot_write(options, error.what(), invocation);
  }
  if (const int error = file.finish(); error != 0) return cannot_write(options, strerror(error), invocation);
  for (const std::string& problem : inputs.problems()) invocation.say(problem);
  return inputs.problems().empty() ? kOk : kBadInput;
}

int run_export(const ExportVerbOptions& options, Invocation& invocation) {
  if (options.format == ExportFormat::sqlite) return export_tables(options, invocation);
  if (options.dumps.size() != 1) {
    invocation.say("this format takes one dump; several: --format sqlite.");
    return kBadInput;
  }
  if (options.output != "-" && !may_write(options.output, options.force, invocation)) return kBadInput;
  analyzer::OpenedDump opened(options.dumps.front(), options.symbols);
  if (options.output != "-") {
    ReplacedFile file(options.output);
    int error = file.error();
    if (error == 0) {
      write_export(opened, options, file.stream());
      error = file.finish();
    }
    if (error != 0) return cannot_write(options, strerror(error), invocation);
  } else if (invocation.stream != nullptr) {
    write_export(opened, options, *invocation.stream);
  } else {
    std::ostringstream text;
    write_export(opened, options, text);
    invocation.out += text.str();
  }
  return finish(invocation, opened.dump);
}

}  // namespace

void add_export(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "export", "convert a dump: JSON, CSV, folded stacks, PyTorch's memory viewer, SQLite",
               run_export);
  verb->add_option("DUMP", options->dumps, "the dump file; for sqlite any number of dumps, values files, recordings")
      ->required()
      ->type_name("");
  add_choice(
      *verb, "--format", options->format,
      {{"json", ExportFormat::json},
       {"csv", ExportFormat::csv},
       {"folded", ExportFormat::folded},
       {"memory-viz", ExportFormat::memory_viz},
       {"sqlite", ExportFormat::sqlite}},
      "json (docs/json.md), csv (one row a tensor), folded (for flame graphs), memory-viz (a pickle for PyTorch's "
      "memory viewer), sqlite (all tables: docs/tables.md)")
      ->required()
      ->type_name("FORMAT");
  verb->add_option("-o,--output", options->output, "output file. Default: standard output")->type_name("FILE");
  verb->add_flag("--force", options->force, "overwrite FILE");
  verb->add_flag("--full-stacks", options->full_stacks, "include the interpreter's own frames");
  add_choice(*verb, "--stacks", options->stacks_by_id, {{"inline", false}, {"by-id", true}},
             "json: full stack in each tensor (inline, default) or its id in 'stacks' (by-id)")
      ->type_name("HOW");
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope export train.4242.1.tscope --format json -o train.json\n"
      "  tensorscope export train.4242.1.tscope --format csv | column -s, -t | less -S\n"
      "  tensorscope export train.4242.1.tscope --format folded | flamegraph.pl > memory.svg\n"
      "  tensorscope export train.4242.1.tscope --format memory-viz -o train.pickle\n"
      "  tensorscope export train.4242.*.tscope --format sqlite -o train.sqlite");
}

}  // namespace tensorscope::cli
