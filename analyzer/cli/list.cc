// SPDX-License-Identifier: Apache-2.0
// list: the table of live tensors itself, one row a tensor, the tensors of one storage together.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "text/choice_words.h"
#include "text/dump/list_columns.h"
#include "text/dump/moment_phrases.h"
#include "text/dump/tensor_phrases.h"
#include "text/filter_words.h"
#include "text/table.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

using analyzer::kNone;
using analyzer::Tensor;

enum class ListSort { bytes, age, id, shape, dtype, device, category, name, where };

struct ListOptions {
  std::string dump;
  ListSort sort = ListSort::bytes;
  bool reverse = false;
  size_t top = 50;
  std::string columns;
  analyzer::Filter filter;
  analyzer::SymbolOptions symbols;
};

// The selected tensors of one item, oldest first.
struct Family {
  uint32_t item;
  std::vector<uint32_t> tensors;
};

std::vector<Family> families_of(const analyzer::OpenedDump& opened, const analyzer::Selection& selection) {
  std::vector<Family> families;
  std::vector<uint32_t> at(opened.accounts.items().size(), kNone);
  for (uint32_t i = 0; i < opened.dump.tensors.size(); ++i) {
    if (!selection.tensor(i)) continue;
    uint32_t item = opened.accounts.item_of_tensor(i);
    if (at[item] == kNone) {
      at[item] = uint32_t(families.size());
      families.push_back({item, {}});
    }
    families[at[item]].tensors.push_back(i);
  }
  return families;
}

void sort_families(std::vector<Family>& families, analyzer::OpenedDump& opened, const analyzer::Selection& selection,
                   const ListOptions& options) {
  auto head = [&](const Family& family) -> const Tensor& { return opened.dump.tensors[family.tensors.front()]; };
  auto bytes = [&](const Family& family) { return selection.item_bytes(family.item); };
  auto less = [&](const Family& a, const Family& b) {
    const Tensor &x = head(a), &y = head(b);
    switch (options.sort) {
      case ListSort::bytes:
        return bytes(a) != bytes(b) ? bytes(a) > bytes(b) : x.serial < y.serial;
      case ListSort::age:
        return std::tie(x.created_ns, x.serial) < std::tie(y.created_ns, y.serial);
      case ListSort::id:
        return x.serial < y.serial;
      case ListSort::shape:
        if (!std::ranges::equal(x.sizes, y.sizes)) return std::ranges::lexicographical_compare(x.sizes, y.sizes);
        return x.serial < y.serial;
      case ListSort::dtype:
        return std::make_tuple(x.dtype_text(), x.serial) < std::make_tuple(y.dtype_text(), y.serial);
      case ListSort::device:
        return std::tie(x.device, x.serial) < std::tie(y.device, y.serial);
      case ListSort::category: {
        auto key = [&](const Tensor& tensor) {
          return std::string(analyzer::text(opened.holders.category(uint32_t(&tensor - opened.dump.tensors.data()))));
        };
        return std::make_tuple(key(x), x.serial) < std::make_tuple(key(y), y.serial);
      }
      case ListSort::name: {
        auto key = [&](const Tensor& tensor) {
          const std::string name = opened.holders.name(uint32_t(&tensor - opened.dump.tensors.data()));
          return std::make_tuple(name.empty(), name);  // those without a name last
        };
        return std::make_tuple(key(x), x.serial) < std::make_tuple(key(y), y.serial);
      }
      case ListSort::where:
        return std::tie(opened.places.at(x.site).where, x.serial) < std::tie(opened.places.at(y.site).where, y.serial);
    }
    return false;
  };
  std::sort(families.begin(), families.end(), less);
  if (options.reverse) std::reverse(families.begin(), families.end());
}

int list(const ListOptions& options, Invocation& invocation) {
  analyzer::OpenedDump opened(options.dump, options.symbols);
  analyzer::Selection selection = opened.select(options.filter);
  std::vector<Family> families = families_of(opened, selection);
  if (options.sort == ListSort::where) {
    std::vector<uint32_t> sites;
    for (const Family& family : families) sites.push_back(opened.dump.tensors[family.tensors.front()].site);
    opened.places.prefetch(sites, false);
  }
  sort_families(families, opened, selection, options);

  uint64_t tensors = selection.tensor_count(), shown = 0;
  std::vector<uint32_t> sites;
  for (size_t i = 0; i < families.size(); ++i) {
    if (options.top != 0 && shown >= options.top) {
      families.resize(i);
      break;
    }
    shown += families[i].tensors.size();
    for (uint32_t tensor : families[i].tensors) sites.push_back(opened.dump.tensors[tensor].site);
  }
  opened.places.prefetch(sites, false);

  const bool chosen = !options.columns.empty();
  const std::vector<text::ListColumn> columns =
      chosen ? text::list_columns(options.columns) : usual_columns(invocation.terminal);
  std::vector<text::Column> shape;
  for (text::ListColumn column : columns) shape.push_back(table_column(column, !chosen));
  const bool alone = !chosen && std::find(columns.begin(), columns.end(), text::ListColumn::held_by) == columns.end();
  text::Table table(shape, 0);
  for (const Family& family : families) {
    for (uint32_t tensor : family.tensors) {
      const text::ListRow row{tensor, tensor == family.tensors.front(), alone};
      std::vector<std::string> cells;
      for (text::ListColumn column : columns) cells.push_back(list_cell(opened, selection, row, column));
      table.row(std::move(cells));
    }
  }
  analyzer::UnknownMemory unknown;
  for (const Family& family : families) {
    for (uint32_t tensor : family.tensors) unknown.add(opened.dump.tensors[tensor]);
  }
  if (tensors == 0) {
    const std::string why = text::no_match_phrase(opened.why_nothing(selection, options.filter));
    invocation.out += text::wrap(text::clean(why), invocation.terminal.width, 2) + "\n";
    return finish(invocation, opened);
  }
  invocation.out += table.text(invocation.terminal);
  std::string sum = fmt::format("{}, {}; a storage's bytes are counted once, at its oldest tensor",
                                text::counted(tensors, "tensor"), text::bytes(text::tensor_bytes(opened, selection)));
  if (unknown.tensors() != 0) sum += "; without " + text::unknown_memory_phrase(unknown);
  invocation.out += text::wrap(sum, invocation.terminal.width, 2) + "\n";
  invocation.out += text::moment_names_line(opened, invocation.terminal);
  if (shown < tensors)
    invocation.out += fmt::format("showing {} of {}; --top N\n", text::count(shown), text::count(tensors));
  return finish(invocation, opened);
}

}  // namespace

void add_list(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "list", "live tensors, one row each", list);
  verb->add_option("DUMP", options->dump, "the dump file")->required()->type_name("");
  add_choice(*verb, "--sort", options->sort,
             {{"bytes", ListSort::bytes},
              {"age", ListSort::age},
              {"id", ListSort::id},
              {"shape", ListSort::shape},
              {"dtype", ListSort::dtype},
              {"device", ListSort::device},
              {"category", ListSort::category},
              {"name", ListSort::name},
              {"where", ListSort::where}},
             "bytes (largest first, default), age (oldest first), id, shape, dtype, device, category, name, where")
      ->type_name("KEY");
  verb->add_flag("--reverse", options->reverse, "reverse the order");
  verb->add_option("--columns", options->columns,
                   "columns to print: " + text::listed(text::list_column_names(), text::list_column_names().size()))
      ->type_name("A,B,...");
  verb->add_option("--top", options->top, "number of rows, rounded up to whole storages; 0 for all. Default: 50")
      ->check(CLI::Range(0, 1 << 30).description(""))
      ->type_name("N");
  add_filters(*verb, options->filter);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope list train.4242.1.tscope\n"
      "  tensorscope list train.4242.1.tscope --sort age --top 20\n"
      "  tensorscope list train.4242.1.tscope --columns id,view-bytes,requires-grad,names --bytes\n"
      "  tensorscope list train.4242.1.tscope --dtype float32 --shape '64,*' --min-size 1M\n"
      "\n"
      "Views and aliases are indented below the tensor whose storage they share, without bytes of their own.");
}

}  // namespace tensorscope::cli
