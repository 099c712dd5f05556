// SPDX-License-Identifier: Apache-2.0
// What a graph keeps alive, as tables: by module, by operation, and the largest storages one by one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "support/dotted_path.h"
#include "text/graph/phrases.h"
#include "text/graph/report.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

using analyzer::GraphView;
using analyzer::Kept;
using analyzer::KeptStorage;

namespace {

struct Sum {
  uint64_t bytes = 0, only = 0, storages = 0;
  std::set<std::string> members;  // names that share the row

  void add(const KeptStorage& entry) {
    bytes += entry.bytes;
    only += entry.only ? entry.bytes : 0;
    ++storages;
  }
};

std::string sums_table(const char* title, const std::map<std::string, Sum>& sums, const GraphTextOptions& options) {
  std::vector<const std::pair<const std::string, Sum>*> rows;
  for (const auto& row : sums) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return std::tie(a->second.bytes, a->second.only) > std::tie(b->second.bytes, b->second.only);
  });
  const size_t shown = options.top == 0 ? rows.size() : std::min(rows.size(), options.top);
  Table table({{.title = "bytes", .align = Align::right},
               {.title = "retained", .align = Align::right},
               {.title = "storages", .align = Align::right},
               {.title = title, .least = 16, .cut = Cut::middle}});
  for (size_t i = 0; i < shown; ++i) {
    const auto& [name, sum] = *rows[i];
    std::string label = sum.members.size() == 1 ? *sum.members.begin() : name;
    if (sum.members.size() > 1) label += fmt::format(" x{}", count(sum.members.size()));
    table.row({bytes(sum.bytes), bytes(sum.only), count(sum.storages), label});
  }
  std::string more = shown < rows.size() ? fmt::format("  and {} more; --top N\n", count(rows.size() - shown)) : "";
  return "\n" + table.text(options.terminal) + options.terminal.styled(Style::dim, more);
}

std::string largest_table(const GraphView& view, const Kept& kept, const GraphTextOptions& options) {
  const size_t shown = options.top == 0 ? kept.storages.size() : std::min(kept.storages.size(), options.top);
  Table table({{.title = "bytes", .align = Align::right},
               {.title = "held"},
               {.title = "tensor", .least = 12, .cut = Cut::start},
               {.title = "shape"},
               {.title = "dtype"},
               {.title = "by", .least = 16},
               {.title = "where", .least = 12, .cut = Cut::start}});
  for (size_t i = 0; i < shown; ++i) {
    const KeptStorage& entry = kept.storages[i];
    const analyzer::Tensor& tensor = view.dump.tensors[entry.tensor];
    std::string slot = holder_phrase(view, entry);
    if (entry.slots > 1) slot += fmt::format(" and {} more", count(entry.slots - 1));
    const std::string& module = view.module(entry.node);
    table.row({bytes(entry.bytes), entry.only ? "retained" : "shared", view.title(entry.tensor), tensor.shape_text(),
               tensor.dtype_text(), slot, module.empty() ? view.place(entry.node) : module});
  }
  std::string line = "largest";
  if (shown < kept.storages.size()) {
    line += fmt::format("   showing {} of {}; --top N", count(shown), count(kept.storages.size()));
  }
  return "\n" + options.terminal.styled(Style::bold, line) + "\n" + table.text(options.terminal);
}

}  // namespace

std::string graph_keeps_text(const GraphView& view, const std::string& title, const Kept& kept, bool certain,
                             const GraphTextOptions& options) {
  std::string first =
      clean(fmt::format("{} keeps {} in {}", title, bytes(kept.bytes), counted(kept.storages.size(), "storage")));
  if (options.terminal.width > 0) first = cut(first, options.terminal.width);
  std::string text = options.terminal.styled(Style::bold, first) + "\n";
  Table facts({{.title = "", .wide = 12}, {.title = "", .least = 20}});
  uint64_t only = 0;
  for (const KeptStorage& entry : kept.storages) only += entry.only ? 1 : 0;
  facts.row(
      {"retained", fmt::format("{} in {}: freed with this graph", bytes(kept.only_bytes), counted(only, "storage"))});
  facts.row({"shared", fmt::format("{} in {}: also held elsewhere", bytes(kept.bytes - kept.only_bytes),
                                   counted(kept.storages.size() - only, "storage"))});
  std::string through =
      fmt::format("{} of {}", counted(kept.held_slots, "saved slot"), counted(kept.nodes - kept.leaves, "operation"));
  if (kept.python_held > 0) through += fmt::format(", {} of their Python objects", counted(kept.python_held, "tensor"));
  if (kept.leaves > 0) through += ", " + (kept.leaves == 1 ? "1 leaf" : count(kept.leaves) + " leaves");
  facts.row({"through", through});
  if (kept.packed_slots > 0) facts.row({"packed", packed_phrase(kept.packed_slots, certain)});
  if (kept.without_storage > 0) {
    facts.row({"not counted", counted(kept.without_storage, "saved tensor") + " without a known storage"});
  }
  if (view.dump.process.python_version.empty()) {
    facts.row({"not recorded", "what C++ variables hold: the retained size may be smaller"});
  } else if (!certain) {
    facts.row({"not recorded", missing_names_phrase(view.dump) +
                                   ": what ctx objects and hooks keep; the retained size may be smaller"});
  }
  text += facts.text(options.terminal, false);
  if (kept.storages.empty()) return text;

  std::map<std::string, Sum> modules, classes;
  for (const KeptStorage& entry : kept.storages) {
    const std::string& module = view.module(entry.node);
    std::string label = module;
    if (label.empty()) label = view.place(entry.node);
    if (label.empty()) label = view.walk.accumulates(entry.node) ? "leaves" : "(creation not recorded)";
    Sum& sum = modules[module.empty() ? label : analyzer::with_wildcards(module)];
    sum.add(entry);
    sum.members.insert(label);
    Sum& of_class = classes[view.graph.class_name(entry.node)];
    of_class.add(entry);
    of_class.members.insert(view.graph.class_name(entry.node));
  }
  text += sums_table("module, else line", modules, options);
  text += sums_table("operation", classes, options);
  return text + largest_table(view, kept, options);
}

}  // namespace tensorscope::text
