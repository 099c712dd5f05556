// SPDX-License-Identifier: Apache-2.0
#include "text/graph/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ownership/holders.h"
#include "text/graph/phrases.h"
#include "text/shell_word.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

using analyzer::GraphView;
using analyzer::kNone;
using analyzer::kNoNode;

namespace {

constexpr int kLabel = 12;  // width of the column of names

std::string heading(const std::string& title, size_t shown, size_t all, const GraphTextOptions& options) {
  std::string line = title;
  if (shown < all) line += fmt::format("   showing {} of {}; --top N", count(shown), count(all));
  return "\n" + options.terminal.styled(Style::bold, line) + "\n";
}

size_t rows_of(size_t all, const GraphTextOptions& options) {
  return options.top == 0 ? all : std::min(all, options.top);
}

std::string bold_line(const std::string& text, const GraphTextOptions& options) {
  std::string line = clean(text);
  if (options.terminal.width > 0) line = cut(line, options.terminal.width);
  return options.terminal.styled(Style::bold, line) + "\n";
}

Table facts_table() { return Table({{.title = "", .wide = kLabel}, {.title = "", .least = 20}}); }

// "output 1 of " for a tensor of an operation that returned several.
std::string output_words(const GraphView& view, const analyzer::GraphSubject& subject) {
  if (subject.tensor == kNone || subject.node == kNoNode || view.tensors.node_of(subject.tensor) != subject.node)
    return "";
  uint32_t last = 0;
  for (uint32_t tensor : view.tensors.tensors_of(subject.node)) {
    const uint32_t output = view.tensors.output_of(tensor).output;
    if (output != analyzer::kAnyOutput) last = std::max(last, output);
  }
  for (uint32_t user : view.walk.users_of(subject.node)) {
    for (const analyzer::GraphEdge& edge : view.graph.edges_of(user)) {
      if (edge.node == subject.node) last = std::max(last, edge.input);
    }
  }
  const uint32_t own = view.tensors.output_of(subject.tensor).output;
  return last == 0 || own == analyzer::kAnyOutput ? "" : fmt::format("output {} of ", own);
}

// What is to be known about the graph as such: left out where all is well.
void add_reservations(const GraphView& view, Table& facts, uint64_t partial_nodes) {
  if (!view.graph.complete) {
    facts.row({"incomplete",
               view.graph.detail.empty() ? "not all nodes were read: the graph may be larger" : view.graph.detail});
  }
  if (partial_nodes > 0) {
    facts.row({"partial", counted(partial_nodes, "node") + " could not be read whole: edges may be missing"});
  }
}

std::string freed_words(uint64_t freed, uint64_t nodes) {
  if (freed == 0) return "";
  return freed >= nodes ? "buffers freed" : fmt::format("{} freed", count(freed));
}

// "57 nodes with buffers freed, by the backward pass at train.py:57 main"
std::string freed_sentence(uint64_t freed, const std::vector<analyzer::FreedNodes>& by) {
  constexpr size_t kMax = 3;
  std::string text = counted(freed, "node") + " with buffers freed";
  const bool all_known = by.empty() || !by.back().where.empty();
  const size_t known = by.size() - (all_known ? 0 : 1);
  if (known == 0) return text + " (line not recorded)";
  text += known == 1 ? ", by the backward pass at " : ", by the backward passes at ";
  for (size_t i = 0; i < std::min(known, kMax); ++i) {
    text += (i == 0 ? "" : ", ") + by[i].where + (by.size() == 1 ? "" : " (" + count(by[i].nodes) + ")");
  }
  if (known > kMax) text += fmt::format(" and {} more places", count(known - kMax));
  return all_known ? text : text + fmt::format("; not recorded of {}", count(by.back().nodes));
}

std::string names_of_roots(const analyzer::GraphGroup& group) {
  std::string text = group.names.empty() ? "" : analyzer::merged_names(group.names);
  if (group.roots.size() > group.names.size()) {
    text += (text.empty() ? "" : ", ") + count(group.roots.size() - group.names.size()) + " without a name";
  }
  return text;
}

std::string made_words(const GraphView& view, uint32_t node) {
  const std::string place = view.place(node);
  return view.graph.class_name(node) + (place.empty() ? "" : ", " + place);
}

std::string how_many_paths(uint64_t paths) {
  if (paths == 1) return "the only path";
  return paths == analyzer::kEndlessPaths ? "there is a cycle" : path_count(paths) + " paths";
}

std::string retained_words(const analyzer::GraphOverview& all) {
  return bytes(all.kept.only_bytes) + (all.certain ? "" : " at most");
}

}  // namespace

std::string graph_overview_text(const GraphView& view, const analyzer::GraphOverview& all,
                                const GraphTextOptions& options) {
  std::string text = bold_line(
      fmt::format("{} alive: {} and {} with {}", counted(all.graphs, "graph"), counted(all.nodes, "operation"),
                  counted(all.accumulators, "leaf accumulator"), counted(all.edges, "edge")),
      options);
  Table facts = facts_table();
  std::string through = counted(all.kept.held_slots, "saved slot");
  if (all.kept.leaves > 0) through += all.kept.leaves == 1 ? ", 1 leaf" : ", " + count(all.kept.leaves) + " leaves";
  if (all.kept.python_held > 0)
    through += fmt::format(", {} of Python objects", counted(all.kept.python_held, "tensor"));
  facts.row({"reachable", fmt::format("{} in {}: {}", bytes(all.kept.bytes),
                                      counted(all.kept.storages.size(), "storage"), through)});
  facts.row({"retained", retained_words(all)});
  if (all.kept.packed_slots > 0) {
    facts.row({"packed", packed_phrase(all.kept.packed_slots, all.certain)});
  }
  if (all.freed_nodes > 0) facts.row({"freed", freed_sentence(all.freed_nodes, all.freed_by)});
  if (all.python_nodes > 0)
    facts.row({"custom", counted(all.python_nodes, "node") + " of the program's own Functions"});
  if (all.unused_accumulators > 0) {
    facts.row({"unused", counted(all.unused_accumulators, "accumulator") + " of leaves that no graph uses"});
  }
  if (const std::string missing = missing_names_phrase(view.dump); !missing.empty()) {
    facts.row({"not recorded", missing + ": which variables hold a graph, and what ctx objects and hooks keep"});
  }
  add_reservations(view, facts, all.partial_nodes);
  text += facts.text(options.terminal, false);
  if (all.groups.empty()) return text;

  const size_t shown = rows_of(all.groups.size(), options);
  text += heading("graphs by root", shown, all.groups.size(), options);
  Table table({{.title = "retained", .align = Align::right},
               {.title = "reachable", .align = Align::right},
               {.title = "graphs", .align = Align::right},
               {.title = "nodes", .align = Align::right},
               {.title = "root", .least = 12},
               {.title = "made by", .least = 12, .cut = Cut::middle},
               {.title = ""}});
  for (size_t i = 0; i < shown; ++i) {
    const analyzer::GraphGroup& group = all.groups[i];
    const uint32_t root = group.roots.front();
    table.row({bytes(group.only_bytes), bytes(group.bytes), count(group.graphs), count(group.nodes),
               group.roots.size() > 1 ? names_of_roots(group) : root_title(view, root), made_words(view, root),
               freed_words(group.freed_nodes, group.nodes)});
  }
  text += table.text(options.terminal);
  const std::string path = shell_word(options.dump);
  const std::string example = root_argument(view, all.groups.front().roots.front());
  text +=
      "\n" +
      options.terminal.styled(Style::dim, clean(fmt::format("next:  tensorscope graph {} --of {}", path, example))) +
      "\n" +
      options.terminal.styled(Style::dim, clean(fmt::format("       tensorscope graph {} --keeps {}", path, example))) +
      "\n";
  return text;
}

namespace {

std::string leaves_text(const GraphView& view, const analyzer::GraphBelow& below, const GraphTextOptions& options) {
  const size_t shown = rows_of(below.leaves.size(), options);
  std::string text = heading("leaves", shown, below.leaves.size(), options);
  Table table({{.title = "leaf", .least = 16, .cut = Cut::start},
               {.title = "shape"},
               {.title = "bytes", .align = Align::right},
               {.title = "steps", .align = Align::right},
               {.title = "paths", .align = Align::right},
               {.title = "a shortest path", .least = 16, .cut = Cut::middle}});
  for (size_t i = 0; i < shown; ++i) {
    const analyzer::GraphLeaf& leaf = below.leaves[i];
    const analyzer::Tensor* tensor = leaf.tensor == kNone ? nullptr : &view.dump.tensors[leaf.tensor];
    table.row({leaf_title(view, leaf.node), tensor == nullptr ? "" : tensor->shape_text(),
               tensor == nullptr ? "" : bytes(tensor->nbytes), count(leaf.steps), path_count(leaf.paths),
               path_phrase(view, below.reach.path_to(leaf.node))});
  }
  return text + table.text(options.terminal);
}

std::string how_words(const analyzer::GraphDrawing& drawing) {
  switch (drawing.how) {
    case analyzer::Collapse::none:
      return "one line an operation";
    case analyzer::Collapse::module:
      return "one line a call; --collapse none shows each operation";
    case analyzer::Collapse::repeat:
      break;
  }
  std::string cut = drawing.depth > 0 ? fmt::format(", modules down to {}", counted(drawing.depth, "name")) : "";
  return "equal calls together" + cut + "; --collapse module or none shows more";
}

std::string sources(const analyzer::GraphDrawing& drawing, uint32_t box,
                    const std::vector<std::vector<uint32_t>>& edges) {
  constexpr size_t kMax = 4;
  std::string text;
  for (size_t i = 0; i < edges[box].size(); ++i) {
    if (i == kMax) return text + fmt::format(" and {} more", edges[box].size() - kMax);
    const analyzer::DrawnEdge& edge = drawing.edges[edges[box][i]];
    if (!text.empty()) text += ", ";
    text += edge.from == box ? "itself" : std::to_string(edge.from + 1);
    if (edge.count > 1) text += " x" + count(edge.count);
  }
  return text;
}

}  // namespace

// Boxes in order of the forward pass, with the numbers of those that they take from.
std::string drawing_table(const GraphView& view, const analyzer::GraphDrawing& drawing,
                          const GraphTextOptions& options) {
  std::vector<std::vector<uint32_t>> inputs(drawing.boxes.size());
  for (uint32_t i = 0; i < drawing.edges.size(); ++i) inputs[drawing.edges[i].to].push_back(i);
  const size_t most = options.top == 0 ? drawing.boxes.size() : std::max(options.top, analyzer::kReadableBoxes);
  const size_t shown = std::min(most, drawing.boxes.size());
  std::string text =
      heading("as the forward pass made it   " + how_words(drawing), shown, drawing.boxes.size(), options);
  Table table({{.title = "", .align = Align::right},
               {.title = "what", .least = 16, .cut = Cut::middle},
               {.title = "nodes", .align = Align::right},
               {.title = "saves", .align = Align::right},
               {.title = "from", .least = 4},
               {.title = "where", .least = 12, .cut = Cut::start},
               {.title = ""}});
  for (uint32_t i = 0; i < shown; ++i) {
    const analyzer::DrawnBox& box = drawing.boxes[i];
    std::string title = box_title(view, box);
    if (box.calls > 1) title += fmt::format(" x{}", count(box.calls));
    std::string where = box.title == box.place ? box.classes : box.place;
    if (box.kind != analyzer::DrawnBox::Kind::function && box.kind != analyzer::DrawnBox::Kind::module) {
      where = text_of_kind(box);
    }
    table.row({std::to_string(i + 1), title, box.nodes.empty() ? "" : count(box.nodes.size()),
               box.saved_bytes > 0 ? bytes(box.saved_bytes) : "", sources(drawing, i, inputs), where,
               freed_words(box.freed_nodes, box.nodes.size())});
  }
  (void)view;
  return text + table.text(options.terminal);
}

namespace {

// Adds what the tensor or node in question came out of, and what it is a view of.
void add_subject(const GraphView& view, const analyzer::GraphSubject& subject, Table& facts) {
  const bool leaf = view.walk.accumulates(subject.node);
  const bool freed = buffers_freed(view.graph, subject.node);
  std::string words = node_phrase(view, subject.node);
  if (leaf && subject.tensor != kNone) {
    const uint64_t uses = view.walk.users_of(subject.node).size();
    words = uses == 0 ? "requires gradient; not used in any live graph"
                      : fmt::format("requires gradient; used {} in live graphs", counted(uses, "time"));
  }
  facts.row({leaf ? "leaf" : "came out of", output_words(view, subject) + words + (freed ? "   buffers freed" : "")});
  if (subject.tensor == kNone) return;
  const uint32_t base = analyzer::base_of_view(view.dump, subject.tensor);
  if (base != kNone) facts.row({"view of", view.title(base)});
}

}  // namespace

std::string graph_below_text(const GraphView& view, const analyzer::GraphBelow& below,
                             const analyzer::GraphDrawing& drawing, const GraphTextOptions& options) {
  std::string text;
  bool leaves_only = true;
  for (const analyzer::GraphSubject& subject : below.asked) {
    text += bold_line(subject_title(view, subject), options);
    Table facts = facts_table();
    add_subject(view, subject, facts);
    text += facts.text(options.terminal, false);
    leaves_only = leaves_only && view.walk.accumulates(subject.node);
  }
  Table facts = facts_table();
  uint64_t saved = 0;
  for (const analyzer::DrawnBox& box : drawing.boxes) saved += box.saved_bytes;
  if (below.asked.size() > 1) text += "\n";
  facts.row({below.asked.size() > 1 ? "together" : "graph",
             fmt::format("{}, {}; saves {} (leaves not counted)", counted(below.operations, "operation"),
                         counted(below.leaves.size(), "leaf tensor"), bytes(saved))});
  if (below.freed_nodes > 0) facts.row({"freed", freed_sentence(below.freed_nodes, below.freed_by)});
  if (!below.roots.empty()) {
    facts.row(
        {"part of", root_title(view, below.roots.front()) +
                        (below.roots.size() > 1 ? fmt::format(" and {} more", count(below.roots.size() - 1)) : "")});
  }
  add_reservations(view, facts, below.partial_nodes);
  text += facts.text(options.terminal, false);
  if (!below.leaves.empty() && !leaves_only) text += leaves_text(view, below, options);
  return text + drawing_table(view, drawing, options);
}

namespace {

// The tensor that a path goes through at one of its nodes.
std::string passed_tensor(const GraphView& view, const analyzer::GraphPath& path, size_t at) {
  if (at == 0) return view.title(path.output);
  if (at + 1 == path.nodes.size() && path.saved_in == kNone) return view.title(path.input);
  const auto tensors = view.tensors.tensors_of(analyzer::NodeOutput{path.nodes[at], path.outputs[at]});
  return tensors.empty() ? "" : view.title(tensors.front());
}

std::string path_title(const GraphView& view, const analyzer::GraphPath& path) {
  const size_t steps = path.nodes.size() - 1;
  if (path.saved_in == kNone) {
    return fmt::format("{} was computed from {}, in {} ({})", view.title(path.output), view.title(path.input),
                       counted(steps, "step"), how_many_paths(path.paths));
  }
  const uint32_t saver = path.nodes.back();
  return fmt::format("{} was computed with {}, which {} saved, {} away ({})", view.title(path.output),
                     view.title(path.input), view.graph.class_name(saver), counted(steps, "step"),
                     how_many_paths(path.paths));
}

}  // namespace

std::string graph_path_text(const GraphView& view, const analyzer::GraphPath& path, const GraphTextOptions& options) {
  std::string text = bold_line(path_title(view, path), options);
  if (path.saved_in != kNone) {
    const uint32_t saver = path.nodes.back();
    Table facts = facts_table();
    facts.row({"saved as",
               view.graph.class_name(saver) + "." + view.graph.slot_name(saver, view.graph.saved[path.saved_in])});
    facts.row({"", "it requires no gradient, so no graph edge points to it"});
    text += facts.text(options.terminal, false);
  }
  // Forward, equal operations of one place together.
  struct Row {
    uint32_t node;
    size_t at;
    uint64_t count;
  };
  std::vector<Row> rows;
  for (size_t i = path.nodes.size(); i-- > 0;) {
    const uint32_t node = path.nodes[i];
    const bool same = !rows.empty() &&
                      view.graph.nodes[rows.back().node].class_name == view.graph.nodes[node].class_name &&
                      view.site_of(rows.back().node) == view.site_of(node);
    if (same) {
      ++rows.back().count;
    } else {
      rows.push_back({node, i, 1});
    }
  }
  Table table({{.title = "operation", .least = 12},
               {.title = "tensor", .least = 12},
               {.title = "module", .least = 8, .cut = Cut::start},
               {.title = "where", .least = 12, .cut = Cut::start},
               {.title = ""}});
  const size_t shown = rows_of(rows.size(), options);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i >= (shown + 1) / 2 && i < rows.size() - shown / 2) {  // the middle is what is left out
      if (i == (shown + 1) / 2) table.row({fmt::format("... {} more; --top 0", count(rows.size() - shown))});
      continue;
    }
    const Row& row = rows[i];
    const std::string times = row.count > 1 ? fmt::format(" x{}", count(row.count)) : "";
    table.row({view.graph.class_name(row.node) + times, row.count > 1 ? "" : passed_tensor(view, path, row.at),
               view.module(row.node), view.place(row.node),
               buffers_freed(view.graph, row.node) ? "buffers freed" : ""});
  }
  return text + table.text(options.terminal);
}

namespace {

bool shares_storage(const GraphView& view, uint32_t a, uint32_t b) {
  const uint32_t storage = view.dump.tensors[a].storage;
  return storage != kNone && storage == view.dump.tensors[b].storage;
}

}  // namespace

std::string graph_neighbours_text(const GraphView& view, uint32_t tensor, const analyzer::GraphNeighbours& near,
                                  const GraphTextOptions& options) {
  std::string text = bold_line(tensor_line(view, tensor), options);
  Table facts = facts_table();
  const std::string own = view.name(tensor);
  if (!own.empty()) facts.row({"name", own + " (its own)"});
  for (uint32_t node : near.nodes) {
    facts.row(
        {near.saved_by ? "saved by" : "came out of", output_words(view, {tensor, node}) + node_phrase(view, node)});
    if (near.nodes.size() > 3 && node == near.nodes[2]) {
      facts.row({"", fmt::format("and {} more", count(near.nodes.size() - 3))});
      break;
    }
  }
  std::set<uint32_t> listed;
  auto add = [&](const char* label, const std::vector<analyzer::GraphRelative>& relatives, bool path) {
    for (const analyzer::GraphRelative& relative : relatives) {
      if (!listed.insert(relative.tensor).second) continue;
      std::string line = fmt::format("#{} {}", view.dump.tensors[relative.tensor].serial, relative.name);
      if (path) {
        line += fmt::format("   {}: {}", counted(relative.steps, "step"), path_phrase(view, relative.nodes));
        if (shares_storage(view, tensor, relative.tensor)) line += "   same storage";
      }
      facts.row({label, line});
      label = "";
    }
  };
  add("used for", near.used_for, true);
  add("made from", near.made_from, true);
  add("same operation", near.same_node, false);
  add("same storage", near.same_storage, false);
  if (near.made_from.empty() && near.used_for.empty() && near.same_storage.empty() && near.same_node.empty()) {
    facts.row({"near it", "no named tensor is reachable in the graph"});
  }
  return text + facts.text(options.terminal, false);
}

}  // namespace tensorscope::text
