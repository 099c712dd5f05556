#include "text/module_table.h"

#include <fmt/format.h>

#include "memory/module_sums.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::commands {

using model::Category;
using model::ModuleRow;

namespace {

// Columns of a terminal in which buffers, and gradients apart from optimizer state, have columns of their own.
constexpr int kRoomy = 100, kNarrow = 90;

std::string cell(uint64_t bytes) { return bytes == 0 ? "" : render::bytes(bytes); }

}  // namespace

std::string module_table(model::OpenedDump& opened, const model::Selection& selection, bool full,
                         const render::Terminal& terminal) {
  const model::ModuleSums sums = model::module_sums(opened.view(selection), !full);
  const bool roomy = terminal.width <= 0 || terminal.width >= kRoomy;
  const bool narrow = terminal.width > 0 && terminal.width < kNarrow;
  auto number = [](const char* title) { return render::Column{.title = title, .align = render::Align::right}; };
  render::Table table({{.title = "module", .least = 16, .cut = render::Cut::middle},
                       number("parameter"),
                       number("buffer"),
                       number(narrow ? "grad, optim" : "gradient"),
                       number("optimizer"),
                       number("saved"),
                       number("other"),
                       number("total")});
  auto add = [&](const std::string& name, const ModuleRow& row, render::Style style) {
    auto of = [&](Category category) { return row.bytes[size_t(category)]; };
    const uint64_t buffer = roomy ? of(Category::buffer) : 0;
    const uint64_t named = of(Category::parameter) + buffer + of(Category::gradient) + of(Category::optimizer_state) +
                           of(Category::saved_activation);
    const uint64_t state = of(Category::optimizer_state);
    table.row({name, cell(of(Category::parameter)), cell(buffer), cell(of(Category::gradient) + (narrow ? state : 0)),
               cell(narrow ? 0 : state), cell(of(Category::saved_activation)), cell(row.total - named),
               render::bytes(row.total)},
              style);
  };
  for (const ModuleRow& row : sums.rows) {
    std::string name = std::string(size_t(row.depth) * 2, ' ') + row.name;
    if (row.modules > 1) name += fmt::format(" ({})", render::count(row.modules));
    if (!row.class_name.empty() && !narrow) name += "  " + row.class_name;
    add(name, row, row.depth == 0 ? render::Style::bold : render::Style::plain);
  }
  if (sums.none.total > 0) add("(in no module)", sums.none, render::Style::plain);
  add("all", sums.all, render::Style::bold);
  return table.text(terminal);
}

}  // namespace tensorscope::commands
