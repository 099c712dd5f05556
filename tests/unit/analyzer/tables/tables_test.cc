// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/tables/{column_data,table,dump_tables,tensor_tables,site_tables,finding_tables}.cc
// Covers: analyzer/tables/{coverage_tables,memory_tables,graph_tables,values_tables,recording_tables}.cc
// Covers: analyzer/tables/{input_file,inputs,page,views,database,arrow_stream}.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "../cli/sample_dumps.h"
#include "dump/reader.h"
#include "tables/arrow_stream.h"
#include "tables/database.h"
#include "tables/page.h"
#include "tables/views.h"

namespace tensorscope::tables {
namespace {

using testing::training_dump;

const analyzer::SymbolOptions kPlain = {
    .sysroot = {}, .source_folders = {}, .debug_dirs = {}, .use_cache = false, .native = false};

class TablesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tensorscope-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const testing::DumpBuilder& builder) {
    const std::string path = (folder_ / name).string();
    builder.write(path);
    return path;
  }

  // The rows of a query, cells joined by '|'.
  std::vector<std::string> ask(std::vector<std::string> paths, const std::string& sql) {
    std::vector<std::string> rows;
    Inputs inputs(std::move(paths), kPlain);
    Database("").query(sql, inputs,
                       {.begin = [](const std::vector<std::string>&) {},
                        .row =
                            [&](std::span<const Cell> cells) {
                              std::ostringstream row;
                              for (const Cell& cell : cells) {
                                if (&cell != cells.data()) row << '|';
                                if (cell.kind == Cell::Kind::int64) row << cell.int64;
                                if (cell.kind == Cell::Kind::float64) row << cell.float64;
                                if (cell.kind == Cell::Kind::text) row << cell.text;
                              }
                              rows.push_back(row.str());
                            }});
    return rows;
  }

  std::filesystem::path folder_;
};

TEST_F(TablesTest, ThePageOfTablesIsTheCode) {
  std::ifstream file(TABLES_PAGE);
  std::string page((std::istreambuf_iterator<char>(file)), {});
  const size_t begin = page.find("## Of dumps");
  ASSERT_NE(begin, page.npos) << TABLES_PAGE;
  if (const char* update = getenv("TENSORSCOPE_UPDATE_GOLDEN"); update != nullptr && *update == '1') {
    file.close();
    std::ofstream(TABLES_PAGE) << page.substr(0, begin) + tables_page();
    return;
  }
  EXPECT_EQ(page.substr(begin), tables_page());
}

TEST_F(TablesTest, TablesAndColumnsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Table& table : all_tables()) {
    EXPECT_TRUE(names.insert(table.name).second) << table.name;
    std::set<std::string> columns;
    for (const Column& column : table.columns) EXPECT_TRUE(columns.insert(column.name).second) << column.name;
    EXPECT_EQ(std::string(table.columns.front().name), "dump") << table.name;
    EXPECT_EQ(table_named(table.name), &table);
  }
  for (const View& view : all_views()) EXPECT_TRUE(names.insert(view.name).second) << view.name;
  EXPECT_EQ(table_named("no"), nullptr);
}

TEST_F(TablesTest, EveryColumnOfEveryTableHasAsManyValuesAsTheTableHasRows) {
  for (const auto& builder :
       {training_dump(2), testing::native_dump(), testing::held_dump(3), testing::hostile_dump()}) {
    InputFile file(write("a.tscope", builder), 1, kPlain);
    for (const Table& table : all_tables()) {
      if (!file.has(table)) continue;
      scan(file, table, all_columns(table), [&](Batch&& batch) {
        for (const ColumnData& data : batch.data) EXPECT_EQ(data.rows(), batch.rows) << table.name;
        return true;
      });
    }
  }
}

TEST_F(TablesTest, MemoryByCategoryIsWhatReportGroups) {
  const std::string path = write("a.tscope", training_dump(3));
  analyzer::OpenedDump opened(path, kPlain);
  const analyzer::Selection everything = opened.select({});
  for (const auto& [by, column] :
       {std::pair{analyzer::GroupBy::category, "category"}, {analyzer::GroupBy::line, "place"}}) {
    std::map<std::string, uint64_t> expected, found;
    for (const analyzer::Group& group : analyzer::group(opened.view(everything), by)) {
      if (group.bytes > 0) expected[group.label] = group.bytes;
    }
    const auto rows = ask({path}, std::string("select coalesce(") + column +
                                      ", '(no stack)'), sum(bytes) from memory group by 1 having sum(bytes) > 0");
    for (const std::string& row : rows) {
      found[row.substr(0, row.rfind('|'))] = std::stoull(row.substr(row.rfind('|') + 1));
    }
    EXPECT_EQ(found, expected) << column;
    EXPECT_GT(found.size(), 1u);
  }
  const auto sums = ask({path}, "select live_bytes, (select sum(bytes) from memory) from dumps");
  const std::string total = std::to_string(opened.accounts.total_bytes());
  EXPECT_THAT(sums, ::testing::ElementsAre(total + "|" + total));
}

TEST_F(TablesTest, OwnBytesOfTensorsAreTheMemoryInTensors) {
  const std::string path = write("a.tscope", training_dump(3));
  EXPECT_EQ(ask({path}, "select sum(own_bytes) from tensors"),
            ask({path}, "select sum(bytes) from memory where tensor is not null"));
}

TEST_F(TablesTest, EachDumpHasItsNumber) {
  const std::string first = write("a.tscope", training_dump(1)), second = write("b.tscope", training_dump(2));
  EXPECT_THAT(ask({first, second}, "select dump, path = '" + second + "' from dumps order by 1"),
              ::testing::ElementsAre("1|0", "2|1"));
  EXPECT_THAT(ask({first, second}, "select count(distinct dump) from tensors"), ::testing::ElementsAre("2"));
}

TEST_F(TablesTest, GrowthIsTheDifferenceOfTheDumps) {
  const std::string first = write("a.tscope", training_dump(1)), second = write("b.tscope", training_dump(2));
  EXPECT_EQ(ask({first, second}, "select sum(growth_bytes) from growth_by_place"),
            ask({first, second}, "select max(live_bytes) - min(live_bytes) from dumps"));
}

TEST_F(TablesTest, FindingsOfARunAreOfAllItsDumps) {
  std::vector<std::string> paths;
  for (int i = 1; i <= 3; ++i) {
    testing::DumpBuilder builder = testing::held_dump(8 * i);
    builder.dump_ns += uint64_t(i) * 1'000'000'000;
    paths.push_back(write(std::to_string(i) + ".tscope", builder));
  }
  const auto rows = ask(paths, "select dump, first_bytes < last_bytes from findings where first_bytes is not null");
  EXPECT_THAT(rows, ::testing::Contains("3|1"));
  EXPECT_THAT(rows, ::testing::Not(::testing::Contains(::testing::StartsWith("1|"))));
}

TEST_F(TablesTest, ColumnsOfUsingAndNaturalAreFilled) {
  const std::string path = write("a.tscope", training_dump(1));
  const auto joined = ask({path}, "select count(*) from tensors join sites on tensors.site = sites.site");
  EXPECT_NE(joined, std::vector<std::string>{"0"});
  EXPECT_EQ(ask({path}, "select count(*) from tensors join sites using (dump, site)"), joined);
  const std::string held = write("held.tscope", testing::held_dump(3));
  const auto both = ask({held},
                        "select count(*) from names join holders on names.tensor = holders.tensor and names.position = "
                        "holders.position");
  EXPECT_NE(both, std::vector<std::string>{"0"});
  EXPECT_EQ(ask({held}, "select count(*) from names natural join holders"), both);
}

TEST_F(TablesTest, AQueryOnlyReads) {
  const std::string path = write("a.tscope", training_dump(1));
  for (const char* sql : {"drop table tensors", "insert into tensors values (1)", "attach 'x' as y",
                          "pragma user_version", "create table x (y)", "select load_extension('x')", "begin", ""}) {
    EXPECT_THROW(ask({path}, sql), DatabaseError) << sql;
  }
  EXPECT_THROW(ask({path}, "select nothing from tensors"), DatabaseError);
}

TEST_F(TablesTest, AllTablesAndViewsAreInAnExportedFile) {
  const std::string path = write("a.tscope", training_dump(1)), database = (folder_ / "x.sqlite").string();
  Inputs inputs({path}, kPlain);
  Database(database).fill_all(inputs);
  EXPECT_GT(std::filesystem::file_size(database), 10000u);
  EXPECT_TRUE(inputs.problems().empty());
}

TEST_F(TablesTest, WhatIsWrongWithAFileIsKept) {
  std::string bytes = training_dump(1).bytes();
  const std::string path = (folder_ / "cut.tscope").string();
  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() - 100);
  Inputs inputs({path}, kPlain);
  inputs.each(false, [](InputFile&) {});
  EXPECT_EQ(inputs.problems().size(), 1u);
}

TEST_F(TablesTest, AnArrowStreamOutlivesWhatItWasMadeOf) {
  const Table& table = *table_named("tensors");
  ArrowArrayStream stream;
  size_t rows = 0;
  std::string category;
  {
    InputFile file(write("a.tscope", training_dump(1)), 7, kPlain);
    std::deque<Batch> batches;
    scan(file, table, all_columns(table), [&](Batch&& batch) {
      rows += batch.rows;
      category = batch.data[3].text_at(0);
      batches.push_back(std::move(batch));
      return true;
    });
    export_stream(table, std::move(batches), stream);
  }
  ArrowSchema schema;
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  EXPECT_STREQ(schema.format, "+s");
  ASSERT_EQ(size_t(schema.n_children), table.columns.size());
  EXPECT_STREQ(schema.children[0]->format, "l");
  EXPECT_STREQ(schema.children[3]->name, "category");
  EXPECT_STREQ(schema.children[3]->dictionary->format, "u");
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);

  ArrowArray array;
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  EXPECT_EQ(size_t(array.length), rows);
  // A consumer may take a column out, and release the rest and the stream first.
  ArrowArray numbers = *array.children[0], words = *array.children[3];
  array.children[0]->release = array.children[3]->release = nullptr;
  array.release(&array);
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  EXPECT_EQ(array.release, nullptr) << "the end of the stream";
  stream.release(&stream);

  EXPECT_EQ(static_cast<const int64_t*>(numbers.buffers[1])[rows - 1], 7);
  const int32_t word = static_cast<const int32_t*>(words.buffers[1])[0];
  const auto* ends = static_cast<const int32_t*>(words.dictionary->buffers[1]);
  const auto* text = static_cast<const char*>(words.dictionary->buffers[2]);
  EXPECT_EQ(std::string(text + ends[word], text + ends[word + 1]), category);
  numbers.release(&numbers);
  words.release(&words);
}

TEST(ColumnData, NullsAndValuesStandSideBySide) {
  ColumnData whole(Type::int64), truth(Type::boolean), word(Type::dictionary), text(Type::text);
  for (int i = 0; i < 20; ++i) {
    if (i % 3 != 0) {
      whole.int64(uint64_t(i));
      truth.boolean(i % 2 == 0);
      word.text(i % 2 == 0 ? "even" : "odd");
      text.text(std::to_string(i));
    }
    for (ColumnData* column : {&whole, &truth, &word, &text}) column->end_row();
  }
  for (const ColumnData* column : {&whole, &truth, &word, &text}) {
    EXPECT_EQ(column->rows(), 20u);
    EXPECT_EQ(column->nulls(), 7u);
    EXPECT_TRUE(column->is_null(9));
  }
  EXPECT_EQ(whole.int64_at(16), 16);
  EXPECT_TRUE(truth.boolean_at(16));
  EXPECT_FALSE(truth.boolean_at(17));
  EXPECT_EQ(word.text_at(16), "even");
  EXPECT_EQ(word.ends().size(), 3u);
  EXPECT_EQ(text.text_at(16), "16");
}

}  // namespace
}  // namespace tensorscope::tables
