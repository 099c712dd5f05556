// list: the table of live tensors itself, one row a tensor, the tensors of one storage together.
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <tuple>

#include "commands/held_text.h"
#include "commands/opened_dump.h"
#include "commands/tensor_text.h"
#include "commands/verb.h"
#include "render/table.h"
#include "render/units.h"

namespace tensorscope::commands {

namespace {

using model::kNone;
using model::Tensor;

constexpr int kRoomForCategory = 100, kRoomForHolder = 150;  // columns of the terminal

enum class ListSort { bytes, age, id, shape, dtype, device, category, name, where };

struct ListOptions {
  std::string dump;
  ListSort sort = ListSort::bytes;
  bool reverse = false;
  size_t limit = 50;
  model::Filter filter;
  model::SymbolOptions symbols;
};

// The selected tensors of one item, oldest first.
struct Family {
  uint32_t item;
  std::vector<uint32_t> tensors;
};

std::vector<Family> families_of(const OpenedDump& opened, const model::Selection& selection) {
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

void sort_families(std::vector<Family>& families, OpenedDump& opened, const ListOptions& options) {
  auto head = [&](const Family& family) -> const Tensor& { return opened.dump.tensors[family.tensors.front()]; };
  auto bytes = [&](const Family& family) { return opened.accounts.items()[family.item].bytes; };
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
        return std::tie(x.sizes, x.serial) < std::tie(y.sizes, y.serial);
      case ListSort::dtype:
        return std::make_tuple(x.dtype_text(), x.serial) < std::make_tuple(y.dtype_text(), y.serial);
      case ListSort::device:
        return std::tie(x.device, x.serial) < std::tie(y.device, y.serial);
      case ListSort::category: {
        auto key = [&](const Tensor& tensor) {
          return std::string(model::text(opened.holders.category(uint32_t(&tensor - opened.dump.tensors.data()))));
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
  OpenedDump opened(options.dump, options.symbols);
  model::Selection selection = opened.select(options.filter);
  std::vector<Family> families = families_of(opened, selection);
  if (options.sort == ListSort::where) {
    std::vector<uint32_t> sites;
    for (const Family& family : families) sites.push_back(opened.dump.tensors[family.tensors.front()].site);
    opened.places.prefetch(sites, false);
  }
  sort_families(families, opened, options);

  uint64_t tensors = selection.tensor_count(), shown = 0;
  std::vector<uint32_t> sites;
  for (size_t i = 0; i < families.size(); ++i) {
    if (options.limit != 0 && shown >= options.limit) {
      families.resize(i);
      break;
    }
    shown += families[i].tensors.size();
    for (uint32_t tensor : families[i].tensors) sites.push_back(opened.dump.tensors[tensor].site);
  }
  opened.places.prefetch(sites, false);

  const int room = invocation.terminal.width > 0 ? invocation.terminal.width : INT_MAX;
  render::Table table({{.title = "id"},
                       {.title = "bytes", .align = render::Align::right},
                       {.title = "dtype"},
                       {.title = "shape", .least = 12},
                       {.title = "device"},
                       {.title = "age", .align = render::Align::right},
                       {.title = "category", .least = 9},
                       {.title = "name", .least = 16, .cut = render::Cut::middle},
                       {.title = "held by", .least = 16, .cut = render::Cut::middle},
                       {.title = "", .least = 4},
                       {.title = "where", .least = 12, .cut = render::Cut::start},
                       {.title = "", .least = 4}},
                      0);
  for (const Family& family : families) {
    const model::Item& item = opened.accounts.items()[family.item];
    for (size_t i = 0; i < family.tensors.size(); ++i) {
      uint32_t index = family.tensors[i];
      const Tensor& tensor = opened.dump.tensors[index];
      bool owner = index == item.tensor;
      std::string bytes = owner ? render::bytes(item.bytes) : i == 0 ? "(shared)" : "";
      if (item.storage == kNone) bytes = "-";
      const model::Place& place = opened.places.at(tensor.site);
      const std::string name = opened.holders.name(index), holder = brief_holder(opened, index);
      table.row({fmt::format("{}#{}", i == 0 ? "" : "  ", tensor.serial), bytes, tensor.dtype_text(),
                 tensor.shape_text(), tensor.device.text(), age_text(opened.dump, tensor.created_ns),
                 room >= kRoomForCategory ? category_text(opened, index) : "",
                 name.empty() && room < kRoomForHolder ? holder : name, room < kRoomForHolder ? "" : holder,
                 traits(opened, index), place.line, place.line == place.where ? "" : place.function});
    }
  }
  if (tensors == 0) {
    invocation.out += options.filter.empty() ? "no tensor is alive\n" : "no tensor matches\n";
    return finish(invocation, opened.dump);
  }
  invocation.out += table.text(invocation.terminal);
  std::string sum = fmt::format("{}, {}; each storage's bytes stand once, at its oldest tensor",
                                render::counted(tensors, "tensor"), render::bytes(tensor_bytes(opened, selection)));
  invocation.out += render::wrap(sum, invocation.terminal.width, 2) + "\n";
  if (shown < tensors) invocation.out += fmt::format("{} shown; --limit N shows more, 0 all\n", render::count(shown));
  return finish(invocation, opened.dump);
}

}  // namespace

void add_list(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "list", "the live tensors themselves, one row each", list);
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
             "bytes (largest first), age (oldest first), id, shape, dtype, device, category, name, where")
      ->type_name("KEY");
  verb->add_flag("--reverse", options->reverse, "the other way round");
  verb->add_option("--limit", options->limit, "about how many rows (a storage is never split); 0: all. Default 50")
      ->check(CLI::Range(0, 1 << 30).description(""))
      ->type_name("N");
  add_filters(*verb, options->filter);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope list train.4242.1.tscope\n"
      "  tensorscope list train.4242.1.tscope --sort age --limit 20\n"
      "  tensorscope list train.4242.1.tscope --dtype float32 --shape '64,*' --min-size 1M\n"
      "\n"
      "Tensors on the storage of another one (views, aliases) stand indented below it and have no bytes of their own.");
}

}  // namespace tensorscope::commands
