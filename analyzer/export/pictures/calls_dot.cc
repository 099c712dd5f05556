// SPDX-License-Identifier: Apache-2.0
#include "export/pictures/calls_dot.h"

#include <fmt/format.h>

#include "export/pictures/dot_text.h"
#include "text/units.h"
#include "text/values/calls.h"
#include "text/values/phrases.h"

namespace tensorscope::exports {

namespace {

using values::CallNode;
using values::CallTree;
using values::SquashedCalls;

constexpr double kNoLimit = 100000;  // inches

std::string dot_begin(const CallsPicture& picture) {
  std::string size;
  if (picture.width || picture.height) {
    size = fmt::format(", size=\"{},{}!\"", picture.width.value_or(kNoLimit), picture.height.value_or(kNoLimit));
  }
  if (picture.width && picture.height) size += ", ratio=fill";
  return fmt::format(
      "digraph calls {{\n"
      "  graph [label={}, labelloc=t, fontname=\"sans-serif\", rankdir=TB, dpi={}{}];\n"
      "  node [shape=box, style=filled, fillcolor=\"lavender\", fontname=\"sans-serif\", fontsize=10];\n"
      "  edge [fontname=\"sans-serif\", fontsize=9];\n",
      dot_quoted({picture.title}), picture.dpi, size);
}

// `order`: "" where it is not shown.
std::string dot_edge(uint32_t from, uint32_t to, const std::string& label, bool loop) {
  std::string attributes;
  if (!label.empty()) attributes = "label=" + dot_quoted({label});
  if (loop) attributes += std::string(attributes.empty() ? "" : ", ") + "style=dashed, color=red, constraint=false";
  return fmt::format("  n{} -> n{}{};\n", from, to, attributes.empty() ? "" : " [" + attributes + "]");
}

std::string times(uint64_t calls, uint64_t total_ns) {
  return fmt::format("{}, {}", text::counted(calls, "call"), text::duration(total_ns));
}

std::vector<std::string> lines_of(const CallNode& node) {
  std::vector<std::string> lines{text::call_node_label(node)};
  if (!node.class_name.empty()) lines.push_back(node.class_name);
  if (node.calls > 0) lines.push_back(times(node.calls, node.total_ns));
  if (node.peak > 0) lines.push_back("peak " + text::bytes(node.peak));
  if (node.raised > 0) lines.push_back(text::count(node.raised) + " raised");
  if (node.unfinished > 0) lines.push_back(text::count(node.unfinished) + " unfinished");
  return lines;
}

}  // namespace

std::string calls_dot(const CallTree& tree, const CallsPicture& picture) {
  std::string dot = dot_begin(picture);
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    dot += fmt::format("  n{} [label={}{}];\n", i, dot_quoted(lines_of(tree.nodes[i])),
                       tree.nodes[i].raised > 0 ? ", fillcolor=\"salmon\"" : "");
  }
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    for (uint32_t child : tree.nodes[i].children) {
      dot += dot_edge(i, child, picture.order ? text::ranges(tree.nodes[child].order) : "", false);
    }
  }
  return dot + "}\n";
}

std::string squashed_calls_dot(const SquashedCalls& calls, const CallsPicture& picture) {
  std::string dot = dot_begin(picture);
  for (uint32_t i = 0; i < calls.nodes.size(); ++i) {
    const SquashedCalls::Node& node = calls.nodes[i];
    std::vector<std::string> lines{node.modules > 1 ? fmt::format("{} x {}", node.name, text::count(node.modules))
                                                    : node.name};
    if (node.calls > 0) lines.push_back(times(node.calls, node.total_ns));
    dot += fmt::format("  n{} [label={}];\n", i, dot_quoted(lines));
  }
  for (const SquashedCalls::Edge& edge : calls.edges) {
    dot += dot_edge(edge.from, edge.to, picture.order ? text::ranges(edge.order) : "", edge.loop);
  }
  return dot + "}\n";
}

}  // namespace tensorscope::exports
