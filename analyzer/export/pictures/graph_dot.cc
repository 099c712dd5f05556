// SPDX-License-Identifier: Apache-2.0
#include "export/pictures/graph_dot.h"

#include <fmt/format.h>

#include "export/pictures/dot_text.h"
#include "text/graph/phrases.h"
#include "text/units.h"

namespace tensorscope::exports {

namespace {

using analyzer::DrawnBox;
using analyzer::kNone;

const char* colour(DrawnBox::Kind kind) {
  switch (kind) {
    case DrawnBox::Kind::function:
      return "gray92";
    case DrawnBox::Kind::module:
      return "lavender";
    case DrawnBox::Kind::leaf:
      return "lightblue";
    case DrawnBox::Kind::saved:
      return "orange";
    case DrawnBox::Kind::output:
      return "palegreen";
    case DrawnBox::Kind::base:
      break;
  }
  return "honeydew2";
}

std::vector<std::string> lines_of(const analyzer::GraphView& view, const DrawnBox& box) {
  std::vector<std::string> lines{text::box_title(view, box)};
  if (box.calls > 1) lines.front() += fmt::format(" x{}", text::count(box.calls));
  std::string stars;
  for (const std::string& numbers : box.indices) stars += (stars.empty() ? "* = " : "; ") + numbers;
  if (!stars.empty()) lines.push_back(stars);
  if (box.kind == DrawnBox::Kind::leaf && box.tensor == kNone && box.nodes.size() == 1) return lines;
  if (box.tensor != kNone) {
    const analyzer::Tensor& tensor = view.dump.tensors[box.tensor];
    lines.push_back(fmt::format("{} {}  {}", tensor.dtype_text(), tensor.shape_text(), text::bytes(tensor.nbytes)));
    if (box.kind == DrawnBox::Kind::saved) lines.push_back(box.classes);
    return lines;
  }
  if (!box.classes.empty() && box.classes != box.title) lines.push_back(box.classes);
  if (!box.module.empty() && box.module != box.title) lines.push_back(box.module);
  if (!box.place.empty() && box.place != box.title) lines.push_back(box.place);
  if (box.saved_bytes > 0) lines.push_back("saves " + text::bytes(box.saved_bytes));
  if (box.packed_slots > 0) lines.push_back(text::counted(box.packed_slots, "slot") + " packed by hooks");
  if (box.freed_nodes > 0) {
    lines.push_back(box.freed_nodes >= box.nodes.size() ? "buffers freed"
                                                        : "buffers freed in " + text::counted(box.freed_nodes, "node"));
  }
  return lines;
}

}  // namespace

std::string graph_dot(const analyzer::GraphView& view, const analyzer::GraphDrawing& drawing,
                      const std::string& title) {
  std::string dot = "digraph tensorscope {\n";
  dot += "  graph [label=" + dot_quoted({title}) + ", labelloc=t, fontname=\"sans-serif\"];\n";
  dot += "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n";
  dot += "  edge [fontname=\"sans-serif\", fontsize=9];\n";
  for (size_t i = 0; i < drawing.boxes.size(); ++i) {
    const DrawnBox& box = drawing.boxes[i];
    dot += fmt::format("  n{} [label={}, fillcolor=\"{}\"{}];\n", i, dot_quoted(lines_of(view, box)), colour(box.kind),
                       box.kind == DrawnBox::Kind::module ? ", style=\"filled,rounded\"" : "");
  }
  for (const analyzer::DrawnEdge& edge : drawing.edges) {
    std::string label;
    if (edge.order > 0 && drawing.how != analyzer::Collapse::none) label = std::to_string(edge.order);
    if (edge.count > 1) label += fmt::format("{}x{}", label.empty() ? "" : " ", text::count(edge.count));
    dot += fmt::format("  n{} -> n{}", edge.from, edge.to);
    if (edge.dotted) {
      dot += " [style=dotted, arrowhead=none]";
    } else if (!label.empty()) {
      dot += " [label=\"" + label + "\"]";
    }
    dot += ";\n";
  }
  return dot + "}\n";
}

}  // namespace tensorscope::exports
