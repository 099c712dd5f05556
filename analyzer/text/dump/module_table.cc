// SPDX-License-Identifier: Apache-2.0
#include "text/dump/module_table.h"

#include <fmt/format.h>

#include "memory/module_sums.h"
#include "memory/no_module.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

using analyzer::Category;
using analyzer::ModuleRow;

namespace {

// Columns of a terminal in which buffers, and gradients apart from optimizer state, have columns of their own.
constexpr int kRoomy = 100, kNarrow = 90;

std::string cell(uint64_t bytes) { return bytes == 0 ? "" : text::bytes(bytes); }

}  // namespace

std::string module_table(analyzer::OpenedDump& opened, const analyzer::Selection& selection, bool full,
                         const text::Terminal& terminal) {
  const analyzer::ModuleSums sums = analyzer::module_sums(opened.view(selection), !full);
  const bool roomy = terminal.width <= 0 || terminal.width >= kRoomy;
  const bool narrow = terminal.width > 0 && terminal.width < kNarrow;
  auto number = [](const char* title) { return text::Column{.title = title, .align = text::Align::right}; };
  text::Table table({{.title = "module", .least = 16, .cut = text::Cut::middle},
                     number("parameter"),
                     number("buffer"),
                     number(narrow ? "grad, optim" : "gradient"),
                     number("optimizer"),
                     number("saved"),
                     number("other"),
                     number("total")});
  auto add = [&](const std::string& name, const ModuleRow& row, text::Style style) {
    auto of = [&](Category category) { return row.bytes[size_t(category)]; };
    const uint64_t buffer = roomy ? of(Category::buffer) : 0;
    const uint64_t named = of(Category::parameter) + buffer + of(Category::gradient) + of(Category::optimizer_state) +
                           of(Category::saved_activation);
    const uint64_t state = of(Category::optimizer_state);
    table.row({name, cell(of(Category::parameter)), cell(buffer), cell(of(Category::gradient) + (narrow ? state : 0)),
               cell(narrow ? 0 : state), cell(of(Category::saved_activation)), cell(row.total - named),
               text::bytes(row.total)},
              style);
  };
  for (const ModuleRow& row : sums.rows) {
    std::string name = std::string(size_t(row.depth) * 2, ' ') + row.name;
    if (row.modules > 1) name += fmt::format(" ({})", text::count(row.modules));
    if (!row.class_name.empty() && !narrow) name += "  " + row.class_name;
    add(name, row, row.depth == 0 ? text::Style::bold : text::Style::plain);
  }
  if (sums.none.total > 0) add(analyzer::no_module(opened.dump), sums.none, text::Style::plain);
  add("all", sums.all, text::Style::bold);
  return table.text(terminal);
}

}  // namespace tensorscope::text
