// SPDX-License-Identifier: Apache-2.0
#include "tables/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "tables/views.h"

namespace tensorscope::tables {

namespace {

constexpr int kSchema = 1;

const char* sql_type(Type type) {
  switch (type) {
    case Type::int64:
      return "INTEGER";
    case Type::float64:
      return "REAL";
    case Type::boolean:
      return "BOOLEAN";
    case Type::text:
    case Type::dictionary:
      return "TEXT";
  }
  return "";
}

std::string quoted(const char* name) { return fmt::format("\"{}\"", name); }

void bind(sqlite3_stmt* statement, int at, const ColumnData& data, size_t row) {
  if (data.is_null(row)) {
    sqlite3_bind_null(statement, at);
    return;
  }
  switch (data.type()) {
    case Type::int64:
      sqlite3_bind_int64(statement, at, data.int64_at(row));
      return;
    case Type::float64:
      sqlite3_bind_double(statement, at, data.float64_at(row));
      return;
    case Type::boolean:
      sqlite3_bind_int(statement, at, data.boolean_at(row));
      return;
    case Type::text:
    case Type::dictionary: {
      const std::string_view text = data.text_at(row);
      sqlite3_bind_text64(statement, at, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
      return;
    }
  }
}

Cell cell_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
      return {.kind = Cell::Kind::int64, .int64 = sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return {.kind = Cell::Kind::float64, .float64 = sqlite3_column_double(statement, column)};
    default: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return {.kind = Cell::Kind::text, .text = {text, size_t(sqlite3_column_bytes(statement, column))}};
    }
  }
}

// The words of a query, in lower case.
std::set<std::string> words_of(const std::string& sql) {
  std::set<std::string> words;
  std::string word;
  for (char c : sql + ' ') {
    if (std::isalnum(uint8_t(c)) != 0 || c == '_') {
      word += char(std::tolower(uint8_t(c)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

// One line, without what no query of ours can cause.
std::string mistake_words(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text == "not authorized") return "a query may only read: SELECT";
  return text;
}

}  // namespace

Database::Database(const std::string& path) {
  const int status = sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  if (status != SQLITE_OK) {
    const std::string why = handle_ == nullptr ? sqlite3_errstr(status) : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    throw DatabaseError(why);
  }
  // What is written is made anew after a failure, so nothing needs to survive one.
  execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536");
  create();
}

Database::~Database() { sqlite3_close(handle_); }

void Database::fail() const { throw DatabaseError(mistake_words(sqlite3_errmsg(handle_))); }

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void Database::create() {
  std::string sql = fmt::format("BEGIN; PRAGMA user_version = {};", kSchema);
  for (const Table& table : all_tables()) {
    sql += fmt::format("CREATE TABLE {} (", quoted(table.name));
    for (const Column& column : table.columns) {
      sql += fmt::format("{}{} {}", &column == table.columns.data() ? "" : ", ", quoted(column.name),
                         sql_type(column.type));
    }
    sql += ");";
  }
  for (const View& view : all_views()) sql += fmt::format("CREATE VIEW {} AS {};", quoted(view.name), view.sql);
  execute(sql + "COMMIT");
}

Database::Statement Database::prepare(std::string_view sql, std::string_view* rest) {
  sqlite3_stmt* statement = nullptr;
  const char* end = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.data(), int(sql.size()), &statement, &end) != SQLITE_OK) fail();
  if (rest != nullptr) *rest = sql.substr(size_t(end - sql.data()));
  return {statement, [](sqlite3_stmt* done) { sqlite3_finalize(done); }};
}

void Database::insert(InputFile& file, const Table& table, const std::vector<size_t>& columns) {
  std::string names, places;
  for (size_t column : columns) {
    names += (names.empty() ? "" : ", ") + quoted(table.columns[column].name);
    places += places.empty() ? "?" : ", ?";
  }
  const Statement statement =
      prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", quoted(table.name), names, places));
  scan(file, table, columns, [&](Batch&& batch) {
    for (size_t row = 0; row < batch.rows; ++row) {
      for (size_t i = 0; i < columns.size(); ++i) bind(statement.get(), int(i) + 1, batch.data[i], row);
      if (sqlite3_step(statement.get()) != SQLITE_DONE) fail();
      sqlite3_reset(statement.get());
    }
    return true;
  });
}

void Database::fill(Inputs& inputs, const Wanted& wanted) {
  const bool findings = wanted.count(table_named("findings")) + wanted.count(table_named("finding_tensors")) > 0;
  execute("BEGIN");
  inputs.each(findings, [&](InputFile& file) {
    for (const auto& [table, columns] : wanted) {
      if (file.has(*table)) insert(file, *table, {columns.begin(), columns.end()});
    }
  });
  execute("COMMIT");
}

void Database::fill_all(Inputs& inputs) {
  Wanted all;
  for (const Table& table : all_tables()) {
    const std::vector<size_t> columns = all_columns(table);
    all[&table] = {columns.begin(), columns.end()};
  }
  fill(inputs, all);
  for (const auto& [table, columns] : {std::pair{"tensors", "tensor"},
                                       {"names", "tensor"},
                                       {"holders", "tensor"},
                                       {"memory", "site"},
                                       {"memory", "tensor"},
                                       {"storages", "storage"},
                                       {"allocations", "allocation"},
                                       {"sites", "site"},
                                       {"stacks", "site"},
                                       {"frames", "site"},
                                       {"nodes", "node"},
                                       {"edges", "node"},
                                       {"saved", "node"},
                                       {"saved", "tensor"}}) {
    execute(fmt::format("CREATE INDEX index_{0}_{1} ON {0} (dump, {1})", table, columns));
  }
}

int Database::allow(void* self, int action, const char* a, const char* b, const char*, const char*) {
  Wanted& wanted = static_cast<Database*>(self)->wanted_;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return b != nullptr && strcmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_READ: {
      const Table* table = a == nullptr ? nullptr : table_named(a);
      if (table == nullptr) return SQLITE_OK;
      std::set<size_t>& columns = wanted[table];
      columns.insert(0);
      for (size_t i = 0; b != nullptr && i < table->columns.size(); ++i) {
        if (strcasecmp(table->columns[i].name, b) == 0) columns.insert(i);
      }
      return SQLITE_OK;
    }
    default:
      return SQLITE_DENY;
  }
}

void Database::run(sqlite3_stmt* statement, const Result& result) {
  const int count = sqlite3_column_count(statement);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(sqlite3_column_name(statement, i));
  result.begin(names);
  std::vector<Cell> row(static_cast<size_t>(count));
  int status = SQLITE_ROW;
  while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
    for (int i = 0; i < count; ++i) row[size_t(i)] = cell_of(statement, i);
    result.row(row);
  }
  if (status != SQLITE_DONE) fail();
}

size_t Database::statements(const std::string& sql) {
  size_t count = 0;
  for (std::string_view rest = sql; !rest.empty();) count += prepare(rest, &rest) != nullptr;
  return count;
}

// SQLite's authorizer is not told of the columns that USING and NATURAL name.
void Database::add_joined(const std::string& sql) {
  const std::set<std::string> words = words_of(sql);
  const bool all = words.count("natural") > 0;
  for (const Table& table : all_tables()) {
    if (words.count(table.name) > 0) wanted_[&table].insert(0);
  }
  for (auto& [table, columns] : wanted_) {
    for (size_t i = 0; i < table->columns.size(); ++i) {
      if (all || words.count(table->columns[i].name) > 0) columns.insert(i);
    }
  }
}

void Database::query(const std::string& sql, Inputs& inputs, const Result& result) {
  wanted_.clear();
  sqlite3_set_authorizer(handle_, &Database::allow, this);
  if (statements(sql) == 0) throw DatabaseError("the query is empty");
  sqlite3_set_authorizer(handle_, nullptr, nullptr);
  add_joined(sql);
  fill(inputs, wanted_);
  sqlite3_set_authorizer(handle_, &Database::allow, this);
  for (std::string_view rest = sql; !rest.empty();) {
    if (const Statement statement = prepare(rest, &rest); statement != nullptr) run(statement.get(), result);
  }
  sqlite3_set_authorizer(handle_, nullptr, nullptr);
}

}  // namespace tensorscope::tables
