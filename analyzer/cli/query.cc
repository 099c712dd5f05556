// SPDX-License-Identifier: Apache-2.0
// query: SQL over the tables of dumps, values files and recordings.
#include <fmt/format.h>

#include <sstream>

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "dump/byte_source.h"
#include "export/query_rows.h"
#include "tables/page.h"

namespace tensorscope::cli {

namespace {

constexpr size_t kLongestQuery = size_t{1} << 20;

struct QueryOptions {
  std::vector<std::string> words;  // the files and, without --file, the query behind them
  std::string file;
  exports::QueryFormat format = exports::QueryFormat::table;
  bool list_tables = false;
  analyzer::SymbolOptions symbols;
};

std::string read_query(const std::string& path) {
  const std::unique_ptr<analyzer::ByteSource> source = analyzer::open_file(path, ".sql");
  std::string sql(std::min<uint64_t>(source->size(), kLongestQuery), '\0');
  sql.resize(source->read(0, sql.data(), sql.size()));
  return sql;
}

int query(const QueryOptions& options, Invocation& invocation) {
  if (options.list_tables) {
    invocation.out += tables::tables_list();
    return kOk;
  }
  std::vector<std::string> paths = options.words;
  std::string sql;
  if (!options.file.empty()) {
    sql = read_query(options.file);
  } else if (!paths.empty()) {
    sql = paths.back();
    paths.pop_back();
  }
  if (paths.empty()) {
    invocation.say("query needs at least one file and a query: tensorscope query train.4242.1.tscope \"select ...\"");
    return kBadInput;
  }
  std::ostringstream text;
  std::ostream& out = invocation.stream != nullptr ? *invocation.stream : text;
  exports::QueryRows rows(options.format, out, invocation.terminal);
  tables::Inputs inputs(paths, options.symbols);
  try {
    tables::Database database("");
    if (options.format != exports::QueryFormat::table && database.statements(sql) > 1) {
      invocation.say("--format csv and json print one result; give one statement.");
      return kBadInput;
    }
    database.query(sql, inputs,
                   {.begin = [&](const std::vector<std::string>& columns) { rows.begin(columns); },
                    .row = [&](std::span<const tables::Cell> row) { rows.row(row); }});
  } catch (const tables::DatabaseError& error) {
    invocation.say(
        fmt::format("cannot run the query: {}. `tensorscope query --tables` lists tables and columns.", error.what()));
    return kBadInput;
  }
  rows.end();
  invocation.out += text.str();
  report_unread(invocation, inputs.unread());
  for (const std::string& problem : inputs.problems()) invocation.report_once(problem);
  return inputs.problems().empty() ? kOk : kBadInput;
}

}  // namespace

void add_query(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "query", "SQL over dumps, values files and recordings", query);
  verb->add_option("FILE... SQL", options->words, "the files, then a SELECT in SQLite's language")->type_name("");
  verb->add_option("--file", options->file, "read the query from this file")->type_name("FILE.sql");
  add_choice(*verb, "--format", options->format,
             {{"table", exports::QueryFormat::table},
              {"csv", exports::QueryFormat::csv},
              {"json", exports::QueryFormat::json}},
             "table (default), csv, json (a list of objects)")
      ->type_name("FORMAT");
  verb->add_flag("--tables", options->list_tables, "list tables and columns (docs/tables.md)");
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope query train.4242.1.tscope \"select category, sum(bytes) from memory group by category\"\n"
      "  tensorscope query train.4242.*.tscope \"select * from growth_by_place order by growth_bytes desc limit 10\"\n"
      "  tensorscope query train.4242.1.tscope --file question.sql --format csv\n"
      "\n"
      "Tables and columns: docs/tables.md. Ten queries: docs/queries.md. Column `dump` is the number of the file.");
}

}  // namespace tensorscope::cli
