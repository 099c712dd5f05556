// SPDX-License-Identifier: Apache-2.0
#include "export/json/calls.h"

#include "export/json/scalars.h"
#include "text/values/calls.h"
#include "text/values/phrases.h"

namespace tensorscope::exports {

namespace {

using values::Call;
using values::CallNode;
using values::CallSequence;
using values::CallTree;
using values::SquashedCalls;

constexpr int kCallsSchema = 1;

Json node_json(const CallTree& tree, uint32_t index) {
  const CallNode& node = tree.nodes[index];
  Json children = Json::array();
  for (uint32_t child : node.children) children.push_back(node_json(tree, child));
  const bool memory = node.peak > 0;
  return {{"name", node.name},
          {"label", text::call_node_label(node)},
          {"indices", node.indices},
          {"path", node.path},
          {"modules", node.modules},
          {"class", text_or_null(node.class_name)},
          {"count", node.calls},
          {"raised", node.raised},
          {"unfinished", node.unfinished},
          {"total_ns", node.total_ns},
          {"self_ns", node.self_ns},
          {"backward_count", node.backward_calls},
          {"backward_ns", node.backward_ns},
          {"live_before", memory ? Json(node.live_before) : Json(nullptr)},
          {"live_after", memory ? Json(node.live_after) : Json(nullptr)},
          {"peak", number_or_null(node.peak)},
          {"saved_bytes", node.saved},
          {"order", node.order},
          {"children", std::move(children)}};
}

Json squashed_json(const SquashedCalls& calls) {
  Json nodes = Json::array(), edges = Json::array();
  for (const SquashedCalls::Node& node : calls.nodes) {
    nodes.push_back({{"name", node.name},
                     {"modules", node.modules},
                     {"count", node.calls},
                     {"total_ns", node.total_ns},
                     {"self_ns", node.self_ns}});
  }
  for (const SquashedCalls::Edge& edge : calls.edges) {
    edges.push_back(
        {{"from", edge.from}, {"to", edge.to}, {"modules", edge.modules}, {"loop", edge.loop}, {"order", edge.order}});
  }
  return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}, {"roots", calls.roots}};
}

Json call_json(const CallSequence& sequence, uint32_t index) {
  const Call& call = sequence.calls()[index];
  return {{"id", call.id},
          {"parent", number_or_null(call.parent)},
          {"module", call.module},
          {"class", text_or_null(call.class_name)},
          {"backward", call.backward},
          {"raised", call.raised},
          {"unfinished", call.unfinished},
          {"begin_ns", call.begin_ns},
          {"end_ns", call.end_ns},
          {"self_ns", sequence.self_ns(index)},
          {"live_before", call.live_before},
          {"live_after", call.live_after},
          {"peak", call.peak},
          {"saved_bytes", call.saved},
          {"mode", text_or_null(text::mode_name(call.mode))},
          {"step", call.step},
          {"pass", call.pass},
          {"index", call.index},
          {"thread", call.thread},
          {"site", text_or_null(call.site)}};
}

}  // namespace

std::string calls_json(const CallSequence& sequence, const CallsJson& what) {
  const CallSequence::Counts& counts = sequence.counts();
  Json tree = Json::array();
  for (uint32_t root : what.tree->roots) tree.push_back(node_json(*what.tree, root));
  Json answer = {{"schema", kCallsSchema},          {"file", what.file},
                 {"calls", counts.forward},         {"backward_calls", counts.backward},
                 {"modules", counts.modules},       {"passes", counts.passes},
                 {"threads", counts.threads},       {"first_step", counts.first_step},
                 {"last_step", counts.last_step},   {"raised", counts.raised},
                 {"unfinished", counts.unfinished}, {"tree", std::move(tree)}};
  if (what.squashed != nullptr) answer["squashed"] = squashed_json(*what.squashed);
  std::string text = text_of(answer);
  if (what.sequence) {
    text.pop_back();
    text += ",\n\"sequence\":[";
    for (uint32_t i = 0; i < sequence.calls().size(); ++i) {
      text += (i > 0 ? ",\n" : "\n") + text_of(call_json(sequence, i));
    }
    text += "]}";
  }
  return text + "\n";
}

}  // namespace tensorscope::exports
