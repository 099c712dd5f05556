// SPDX-License-Identifier: Apache-2.0
// The tables in SQLite: a file with all of them, or those that a query names in a temporary database.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"
#include "tables/inputs.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tensorscope::tables {

// A query that cannot be run, or a database that cannot be written; one line.
class DatabaseError : public analyzer::Error {
 public:
  using Error::Error;
};

// A value of a result.
struct Cell {
  enum class Kind : uint8_t { null, int64, float64, text } kind = Kind::null;
  int64_t int64 = 0;
  double float64 = 0;
  std::string_view text{};  // as long as the row is looked at
};

class Database {
 public:
  // "": a temporary one. Throws DatabaseError, as all of its functions do.
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Every table and its rows, views, indexes.
  void fill_all(Inputs& inputs);

  // Statements that only read. Those tables and columns are filled that they name.
  struct Result {
    std::function<void(const std::vector<std::string>& columns)> begin;
    std::function<void(std::span<const Cell> row)> row;
  };
  void query(const std::string& sql, Inputs& inputs, const Result& result);
  // How many statements there are in a text.
  size_t statements(const std::string& sql);

 private:
  using Wanted = std::map<const Table*, std::set<size_t>>;
  using Statement = std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)>;

  void create();
  void execute(const std::string& sql);
  Statement prepare(std::string_view sql, std::string_view* rest = nullptr);
  void fill(Inputs& inputs, const Wanted& wanted);
  void insert(InputFile& file, const Table& table, const std::vector<size_t>& columns);
  void add_joined(const std::string& sql);
  void run(sqlite3_stmt* statement, const Result& result);
  [[noreturn]] void fail() const;
  static int allow(void* self, int action, const char* a, const char* b, const char*, const char*);

  sqlite3* handle_ = nullptr;
  Wanted wanted_;
};

}  // namespace tensorscope::tables
