// SPDX-License-Identifier: Apache-2.0
// export: a dump for other programs, as JSON, CSV, folded stacks, a memory viewer's snapshot or an SQLite database; a
// file appears whole or not at all.
#include "export/export.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>

#include "cli/dump_options.h"
#include "cli/replaced_file.h"
#include "cli/verb.h"
#include "export/profiles/openmetrics.h"
#include "support/error.h"
#include "tables/database.h"
#include "tables/parquet_export.h"

namespace tensorscope::cli {

namespace {

using analyzer::OutputError;

namespace fs = std::filesystem;

enum class ExportFormat { json, csv, folded, memory_viz, speedscope, pprof, openmetrics, sqlite, parquet };

constexpr size_t kSitesOfMetrics = 50;

struct ExportVerbOptions {
  std::vector<std::string> dumps;
  ExportFormat format = ExportFormat::json;
  std::string output = "-";
  bool force = false;
  bool full_stacks = false;
  bool stacks_by_id = false;
  bool partition = false;
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
    case ExportFormat::speedscope:
      return exports::export_speedscope(opened.dump, opened.symbols, out, how);
    case ExportFormat::pprof:
      return exports::export_pprof(opened.dump, opened.symbols, out, how);
    case ExportFormat::openmetrics:
      out << exports::openmetrics(opened, kSitesOfMetrics);
      return;
    case ExportFormat::sqlite:
    case ExportFormat::parquet:
      return;
  }
}

// Throws OutputError if `error` is one of errno's.
void check_written(int error, const ExportVerbOptions& options) {
  if (error != 0) throw OutputError(fmt::format("cannot write {}: {}.", options.output, strerror(error)));
}

// Files of a folder, each of which appears when it is whole.
class FolderFiles {
 public:
  explicit FolderFiles(std::string folder) : folder_(std::move(folder)) {}
  std::ostream& file(const std::string& path) {
    const fs::path whole = fs::path(folder_) / path;
    std::error_code error;
    fs::create_directories(whole.parent_path(), error);
    ReplacedFile& made = *files_.emplace_back(std::make_unique<ReplacedFile>(whole.string()));
    if (error_ == 0) error_ = made.error();
    return made.stream();
  }
  void close() {
    for (const std::unique_ptr<ReplacedFile>& file : files_) {
      const int error = file->finish();
      if (error_ == 0) error_ = error;
    }
    files_.clear();
  }
  int error() const { return error_; }

 private:
  std::string folder_;
  std::vector<std::unique_ptr<ReplacedFile>> files_;
  int error_ = 0;
};

void write_parquet(tables::Inputs& inputs, const ExportVerbOptions& options) {
  FolderFiles files(options.output);
  const auto file = [&](const std::string& path) -> std::ostream& { return files.file(path); };
  if (options.partition) {
    tables::export_partitioned(inputs, file, [&] { files.close(); });
  } else {
    tables::export_parquet(inputs, file);
  }
  files.close();
  check_written(files.error(), options);
}

void write_sqlite(tables::Inputs& inputs, const ExportVerbOptions& options) {
  ReplacedFile file(options.output);
  check_written(file.error(), options);
  try {
    tables::Database(file.temporary()).fill_all(inputs);
  } catch (const tables::DatabaseError& error) {
    throw OutputError(fmt::format("cannot write {}: {}.", options.output, error.what()));
  }
  check_written(file.finish(), options);
}

// The tables of docs/tables.md, of any number of files.
int export_tables(const ExportVerbOptions& options, Invocation& invocation) {
  const bool parquet = options.format == ExportFormat::parquet;
  if (options.output == "-") {
    invocation.say(parquet ? "--format parquet writes a folder; name it with -o."
                           : "--format sqlite writes a file; name it with -o.");
    return kBadInput;
  }
  if (!(parquet ? may_write_folder(options.output, options.force || options.partition, invocation)
                : may_write(options.output, options.force, invocation))) {
    return kBadInput;
  }
  tables::Inputs inputs(options.dumps, options.symbols);
  if (parquet) {
    write_parquet(inputs, options);
  } else {
    write_sqlite(inputs, options);
  }
  report_unread(invocation, inputs.unread());
  for (const std::string& each : inputs.problems()) invocation.say(each);
  return inputs.problems().empty() ? kOk : kBadInput;
}

int run_export(const ExportVerbOptions& options, Invocation& invocation) {
  const bool tables = options.format == ExportFormat::sqlite || options.format == ExportFormat::parquet;
  if (options.partition && options.format != ExportFormat::parquet) {
    invocation.say("--partition is for --format parquet.");
    return kBadInput;
  }
  if (tables) return export_tables(options, invocation);
  if (options.dumps.size() != 1) {
    invocation.say("this format takes one dump; several: --format sqlite, parquet.");
    return kBadInput;
  }
  if (options.output != "-" && !may_write(options.output, options.force, invocation)) return kBadInput;
  analyzer::OpenedDump opened(options.dumps.front(), options.symbols);
  if (options.output != "-") {
    ReplacedFile file(options.output);
    check_written(file.error(), options);
    write_export(opened, options, file.stream());
    check_written(file.finish(), options);
  } else if (invocation.stream != nullptr) {
    write_export(opened, options, *invocation.stream);
  } else {
    std::ostringstream text;
    write_export(opened, options, text);
    invocation.out += text.str();
  }
  return finish(invocation, opened);
}

}  // namespace

void add_export(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "export", "convert a dump: JSON, CSV, folded stacks, PyTorch's memory viewer, SQLite",
               run_export);
  verb->add_option("DUMP", options->dumps,
                   "the dump file; for sqlite and parquet any number of dumps, values files, recordings")
      ->required()
      ->type_name("");
  add_choice(
      *verb, "--format", options->format,
      {{"json", ExportFormat::json},
       {"csv", ExportFormat::csv},
       {"folded", ExportFormat::folded},
       {"memory-viz", ExportFormat::memory_viz},
       {"speedscope", ExportFormat::speedscope},
       {"pprof", ExportFormat::pprof},
       {"openmetrics", ExportFormat::openmetrics},
       {"sqlite", ExportFormat::sqlite},
       {"parquet", ExportFormat::parquet}},
      "json (docs/json.md), csv (one row a tensor), folded (for flame graphs), memory-viz (a pickle for PyTorch's "
      "memory viewer), speedscope, pprof (compressed protobuf), openmetrics (for "
      "Prometheus), sqlite, parquet (all tables: docs/tables.md; parquet is a "
      "folder)")
      ->required()
      ->type_name("FORMAT");
  verb->add_option("-o,--output", options->output, "output file. Default: standard output")->type_name("FILE");
  verb->add_flag("--force", options->force, "overwrite FILE");
  verb->add_flag("--full-stacks", options->full_stacks, "include the interpreter's own frames");
  add_choice(*verb, "--stacks", options->stacks_by_id, {{"inline", false}, {"by-id", true}},
             "json: full stack in each tensor (inline, default) or its id in 'stacks' (by-id)")
      ->type_name("HOW");
  verb->add_flag("--partition", options->partition,
                 "parquet: a data set with a folder for each table, run, rank and step, to which each export adds");
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope export train.4242.1.tscope --format json -o train.json\n"
      "  tensorscope export train.4242.1.tscope --format csv | column -s, -t | less -S\n"
      "  tensorscope export train.4242.1.tscope --format folded | flamegraph.pl > memory.svg\n"
      "  tensorscope export train.4242.1.tscope --format memory-viz -o train.pickle\n"
      "  tensorscope export train.4242.*.tscope --format sqlite -o train.sqlite\n"
      "  tensorscope export train.4242.*.tscope --format parquet --partition -o dataset/\n"
      "  tensorscope export train.4242.1.tscope --format pprof -o train.pb.gz");
}

}  // namespace tensorscope::cli
