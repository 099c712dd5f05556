// SPDX-License-Identifier: Apache-2.0
#include "tables/page.h"

#include <fmt/format.h>

#include "tables/table.h"
#include "tables/views.h"

namespace tensorscope::tables {

namespace {

const char* file_words(FileKind kind) {
  switch (kind) {
    case FileKind::dump:
      return "Of dumps";
    case FileKind::values:
      return "Of values files";
    case FileKind::recording:
      return "Of recordings";
  }
  return "";
}

}  // namespace

std::string tables_page() {
  std::string page;
  const FileKind* before = nullptr;
  for (const Table& table : all_tables()) {
    if (before == nullptr || *before != table.file) page += fmt::format("## {}\n\n", file_words(table.file));
    before = &table.file;
    page +=
        fmt::format("### {}\n\n{}\n\n| column | type | meaning |\n| --- | --- | --- |\n", table.name, table.meaning);
    for (const Column& column : table.columns) {
      page += fmt::format("| {} | {} | {} |\n", column.name, type_name(column.type), column.meaning);
    }
    page += '\n';
  }
  page += "## Views\n\n| view | meaning |\n| --- | --- |\n";
  for (const View& view : all_views()) page += fmt::format("| {} | {} |\n", view.name, view.meaning);
  return page;
}

std::string tables_list() {
  std::string list;
  for (const Table& table : all_tables()) {
    list += fmt::format("{}: {}\n", table.name, table.meaning);
    for (const Column& column : table.columns) {
      list += fmt::format("  {:<22} {:<7} {}\n", column.name, type_name(column.type), column.meaning);
    }
  }
  for (const View& view : all_views()) list += fmt::format("{}: a view. {}\n", view.name, view.meaning);
  return list;
}

}  // namespace tensorscope::tables
