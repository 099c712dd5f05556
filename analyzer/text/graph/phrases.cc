// SPDX-License-Identifier: Apache-2.0
#include "text/graph/phrases.h"

#include <fmt/format.h>

#include "text/units.h"

namespace tensorscope::text {

using analyzer::GraphView;

namespace {

constexpr size_t kMaxOfPath = 9;  // operations of a path that are named

}  // namespace

std::string node_phrase(const GraphView& view, uint32_t node) {
  std::string text = view.graph.class_name(node);
  if (!view.module(node).empty()) text += " of " + view.module(node);
  const std::string place = view.place(node);
  return place.empty() ? text : text + ", made at " + place;
}

std::string root_title(const GraphView& view, uint32_t node) {
  const auto tensors = view.tensors.tensors_of(node);
  for (uint32_t tensor : tensors) {
    if (!view.name(tensor).empty()) return view.title(tensor);
  }
  if (!tensors.empty()) return view.title(tensors.front());
  const std::string number = fmt::format("node:{}", node);
  for (const analyzer::NodeReference& reference : view.dump.references.nodes) {
    if (reference.node == node) return number + " " + reference.line();
  }
  return number;
}

std::string subject_title(const GraphView& view, const analyzer::GraphSubject& subject) {
  return subject.tensor != analyzer::kNone ? tensor_line(view, subject.tensor) : root_title(view, subject.node);
}

std::string holder_phrase(const GraphView& view, const analyzer::KeptStorage& entry) {
  if (view.walk.accumulates(entry.node)) return "a leaf";
  const std::string& of = view.graph.class_name(entry.node);
  if (entry.slot != analyzer::kNone) return of + "." + view.graph.slot_name(entry.node, view.graph.saved[entry.slot]);
  return view.dump.references.rows[entry.reference].text + " of " + of;
}

std::string root_argument(const GraphView& view, uint32_t node) {
  const auto tensors = view.tensors.tensors_of(node);
  return tensors.empty() ? fmt::format("node:{}", node) : std::to_string(view.dump.tensors[tensors.front()].serial);
}

std::string missing_names_phrase(const analyzer::Dump& dump) {
  const analyzer::NamesKnown known = analyzer::names_known(dump);
  if (known == analyzer::NamesKnown::all) return "";
  const std::string& why = dump.references.detail.empty() ? dump.names_detail : dump.references.detail;
  const std::string text =
      known == analyzer::NamesKnown::some ? "not all names were looked up" : "names were not looked up";
  return why.empty() ? text : text + " (" + why + ")";
}

std::string leaf_title(const GraphView& view, uint32_t accumulator) {
  const auto leaves = view.tensors.tensors_of(accumulator);
  if (leaves.empty()) return "(not in the table)";
  const std::string created = view.name(leaves.front()).empty() ? view.created_at(leaves.front()) : "";
  return view.title(leaves.front()) + (created.empty() ? "" : ", made at " + created);
}

std::string box_title(const GraphView& view, const analyzer::DrawnBox& box) {
  if (box.kind != analyzer::DrawnBox::Kind::leaf) return box.title;
  return box.nodes.size() == 1 ? leaf_title(view, box.nodes.front()) : count(box.nodes.size()) + " leaves";
}

std::string text_of_kind(const analyzer::DrawnBox& box) {
  std::string text = analyzer::text(box.kind);
  return box.classes.empty() || box.kind == analyzer::DrawnBox::Kind::leaf ? text : text + ", " + box.classes;
}

std::string path_count(uint64_t paths) {
  if (paths == analyzer::kEndlessPaths) return "endless (a cycle)";
  return paths >= analyzer::kManyPaths ? "more than 9.2e18" : count(paths);
}

std::string tensor_line(const GraphView& view, uint32_t tensor) {
  const analyzer::Tensor& entry = view.dump.tensors[tensor];
  std::string line = fmt::format("{}  {} {}", view.title(tensor), entry.dtype_text(), entry.shape_text());
  if (entry.nbytes > 0) line += "  " + bytes(entry.nbytes);
  return line + "  " + entry.device.text();
}

std::string path_phrase(const GraphView& view, const std::vector<uint32_t>& nodes) {
  struct Run {
    uint32_t class_name;
    uint64_t count;
  };
  std::vector<Run> runs;
  for (uint32_t node : nodes) {
    const uint32_t class_name = view.graph.nodes[node].class_name;
    if (runs.empty() || runs.back().class_name != class_name) runs.push_back({class_name, 0});
    ++runs.back().count;
  }
  std::string text;
  const size_t head = runs.size() > kMaxOfPath ? kMaxOfPath / 2 + 1 : runs.size(), tail = kMaxOfPath / 2;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i == head) {
      i = runs.size() - tail;
      text += fmt::format(" > ... ({} more)", count(i - head));
    }
    text += (i == 0 ? "" : " > ") + view.graph.class_names[runs[i].class_name];
    if (runs[i].count > 1) text += fmt::format(" x{}", count(runs[i].count));
  }
  return text;
}

std::string packed_phrase(uint64_t slots, bool certain) {
  return counted(slots, "slot") + ", by saved-tensor hooks (checkpoint, offload)" +
         (certain ? "" : "; what they keep is not counted");
}

}  // namespace tensorscope::text
