// SPDX-License-Identifier: Apache-2.0
#include "oom/autocast_types.h"

#include <algorithm>
#include <utility>

#include "dump_generated.h"
#include "leaks/retention.h"
#include "symbols/user_code.h"

namespace tensorscope::analyzer::oom {

namespace {

bool flagged(const GraphNode& node, format::GraphNodeFlag flag) { return (node.flags & uint8_t(flag)) != 0; }

// `torch.nn.functional.cross_entropy` names the type of what it is given, and autocast leaves such a log_softmax alone.
bool of_cross_entropy(const std::vector<Frame>& stack) {
  const auto named = [&](std::string_view name) {
    return std::ranges::any_of(
        stack, [&](const Frame& frame) { return frame.language == Frame::Language::python && frame.function == name; });
  };
  // Losses of transformers (loss/loss_utils.py) that cast logits to float32, which leaves no trace in a float32 run.
  return named("cross_entropy") && !named("ForCausalLMLoss") && !named("ForMaskedLMLoss") &&
         !named("ForTokenClassification");
}

// Unused ends of blocks are others in another run.
uint64_t used(const Item& item) { return item.bytes - item.rounding; }

// A number in a tensor does not widen what it is multiplied by.
bool is_number(const Tensor& tensor) { return tensor.sizes.empty() && tensor.numel == 1; }

}  // namespace

AutocastTypes::AutocastTypes(const View& view, Device device, NotKnown not_known)
    : view_(view),
      cpu_(device.is_cpu()),
      cautious_(not_known == NotKnown::whole),
      whole_(view.dump.graph.nodes.size()),
      savers_(view.dump.storages.size()) {
  const Dump& dump = view.dump;
  rules_.reserve(dump.graph.nodes.size());
  for (uint32_t node = 0; node < dump.graph.nodes.size(); ++node) {
    const GraphNode& of = dump.graph.nodes[node];
    node_at_.emplace(of.address, node);
    if (of.seen != kNone) node_of_.emplace(dump.nodes[of.seen].serial, node);
    rules_.push_back(rule_of(node));
    if (flagged(of, format::GraphNodeFlag::accumulates)) continue;
    for (const SavedSlot& slot : dump.graph.saved_of(node)) {
      if (!holds(slot) || slot.tensor == kNone) continue;
      const Tensor& tensor = dump.tensors[slot.tensor];
      if (tensor.storage != kNone) savers_[tensor.storage].push_back({node, tensor.nbytes, slot.output});
    }
  }
  find_types();
}

CastRule AutocastTypes::rule_of(uint32_t node) const {
  const std::string& name = view_.dump.graph.class_name(node);
  const uint32_t seen = view_.dump.graph.nodes[node].seen;
  if (!cautious_ && name.starts_with("LogSoftmax") && seen != kNone &&
      of_cross_entropy(view_.places.stack(view_.dump.nodes[seen].site))) {
    return CastRule::follows;
  }
  if (cautious_ && name.starts_with("SafeSoftmax")) return CastRule::float32;  // as by that formula in a float32 run
  return cast_rule_of_node(name, cpu_);
}

// What a node is given by others comes before it.
void AutocastTypes::find_types() {
  const Graph& graph = view_.dump.graph;
  enum : uint8_t { unseen, open, done };
  std::vector<uint8_t> states(graph.nodes.size(), unseen);
  std::vector<uint32_t> stack;
  for (uint32_t root = 0; root < graph.nodes.size(); ++root) {
    if (states[root] == unseen) stack.push_back(root);
    while (!stack.empty()) {
      const uint32_t node = stack.back();
      if (states[node] == unseen) {
        states[node] = open;
        for (const GraphEdge& edge : graph.edges_of(node)) {
          if (edge.node != kNoNode && states[edge.node] == unseen) stack.push_back(edge.node);
        }
        continue;
      }
      stack.pop_back();
      if (states[node] == done) continue;
      states[node] = done;
      whole_[node] = made_whole(node);
    }
  }
}

bool AutocastTypes::made_whole(uint32_t node) const {
  const Graph& graph = view_.dump.graph;
  const GraphNode& of = graph.nodes[node];
  if (rules_[node] != CastRule::follows) return rules_[node] == CastRule::float32;
  if (flagged(of, format::GraphNodeFlag::accumulates)) {
    const std::span<const SavedSlot> leaf = graph.saved_of(node);
    return leaf.empty() || leaf[0].tensor == kNone || !is_number(view_.dump.tensors[leaf[0].tensor]);
  }
  if (first_alone(node)) {
    const std::span<const GraphEdge> edges = graph.edges_of(node);
    return edges.empty() || edges[0].node == kNoNode ? cautious_ : whole_[edges[0].node];
  }
  // What a Function of the program makes of two types is not known.
  const Given from = given(node);
  if (cautious_) return from.whole != 0 || from.nodes == 0 || given_more(node);
  return flagged(of, format::GraphNodeFlag::python) ? from.all_whole() : from.whole != 0;
}

// Something that needs no gradient, which may be float32 like a mask. Of a product with a number torch saves the
// number.
bool AutocastTypes::given_more(uint32_t node) const {
  const Graph& graph = view_.dump.graph;
  const bool number = std::ranges::any_of(graph.saved_of(node), [&](const SavedSlot& slot) {
    return holds(slot) && slot.tensor != kNone && is_number(view_.dump.tensors[slot.tensor]);
  });
  return !number &&
         std::ranges::any_of(graph.edges_of(node), [](const GraphEdge& edge) { return edge.node == kNoNode; });
}

AutocastTypes::Given AutocastTypes::given(uint32_t node) const {
  Given from;
  for (const GraphEdge& edge : view_.dump.graph.edges_of(node)) {
    if (edge.node == kNoNode) continue;
    ++from.nodes;
    from.whole += whole_[edge.node];
  }
  return from;
}

// Batch norm takes float32 statistics and parameters beside an input of 16 bits.
bool AutocastTypes::first_alone(uint32_t node) const {
  return view_.dump.graph.class_name(node).find("BatchNorm") != std::string::npos;
}

uint32_t AutocastTypes::maker(uint32_t tensor) const {
  const uint64_t address = view_.dump.tensors[tensor].grad_fn;
  const auto found = address == 0 ? node_at_.end() : node_at_.find(address);
  return found == node_at_.end() ? kNone : found->second;
}

bool AutocastTypes::made_in_pass(const Item& item) const {
  if (item.allocation != kNone && view_.dump.allocations[item.allocation].node != 0) return true;
  return std::ranges::any_of(view_.dump.storages[item.storage].tensors,
                             [&](uint32_t tensor) { return maker(tensor) != kNone; });
}

Category AutocastTypes::category_of(const Item& item) const {
  return view_.holders.category(view_.holders.representative(item.storage));
}

// By more than slots of nodes.
bool AutocastTypes::held(const Item& item) const {
  const Category category = category_of(item);
  if (category != Category::saved_activation && category != Category::input_batch) return true;
  return std::ranges::any_of(view_.dump.storages[item.storage].tensors, [&](uint32_t tensor) {
    return std::ranges::any_of(view_.dump.references.of(tensor), [](const Reference& row) { return holds(row); });
  });
}

bool AutocastTypes::made_float32(const Item& item) {
  if (category_of(item) == Category::input_batch) return true;
  for (const Saver& saver : savers_[item.storage]) {
    if (saver.output) return whole_[saver.node];
  }
  for (uint32_t tensor : view_.dump.storages[item.storage].tensors) {
    if (const uint32_t node = maker(tensor); node != kNone) return whole_[node];
  }
  const uint32_t node = ran(item);
  return node == kNone ? makes_float32_at(item.site) : gradient_is_float32(node);
}

// The node whose backward made it; kNone: none that is in the graph.
uint32_t AutocastTypes::ran(const Item& item) const {
  const uint64_t serial = item.allocation == kNone ? 0 : view_.dump.allocations[item.allocation].node;
  const auto found = serial == 0 ? node_of_.end() : node_of_.find(serial);
  return found == node_of_.end() ? kNone : found->second;
}

// A gradient has the type of what it is the gradient of. The node that runs has not cast it yet.
bool AutocastTypes::gradient_is_float32(uint32_t node) const {
  const Dump& dump = view_.dump;
  const bool runs = dump.failure && dump.failure->node_serial != 0 && dump.graph.nodes[node].seen != kNone &&
                    dump.failure->node_serial == dump.nodes[dump.graph.nodes[node].seen].serial;
  if (runs && rules_[node] != CastRule::follows) return rules_[node] == CastRule::float32;
  const Given from = given(node);
  return cautious_ ? from.whole != 0 || from.nodes == 0 : from.all_whole();
}

bool AutocastTypes::makes_float32_at(uint32_t site) {
  const auto [found, fresh] = sites_.try_emplace(site);
  if (fresh) {
    found->second = cautious_;
    for (const Frame& frame : view_.places.stack(site)) {  // the innermost operation first
      const std::string_view operation = code::dispatched_operation(frame.function);
      const bool float32 = computes_float32(operation, cpu_);
      if (!float32 && (!cautious_ || cast_rule(operation, cpu_) != CastRule::lower)) continue;
      found->second = float32;
      break;
    }
  }
  return found->second;
}

void AutocastTypes::note_unread() const {
  for (const auto& [site, float32] : sites_) view_.places.unread().operation(site);
}

uint64_t AutocastTypes::copies(const Item& item) const {
  uint64_t copies = 0;
  for (const Saver& saver : savers_[item.storage]) {
    if (rules_[saver.node] == CastRule::lower && !saver.output) copies += std::min(saver.nbytes, used(item)) / 2;
  }
  return copies;
}

uint64_t AutocastTypes::weight_copies(const Item& item) const {
  std::unordered_map<uint32_t, uint64_t> passes;  // by forward site
  uint64_t most = 1;
  for (const Saver& saver : savers_[item.storage]) {
    const uint32_t seen = view_.dump.graph.nodes[saver.node].seen;
    if (!cautious_ || saver.output || seen == kNone || rules_[saver.node] != CastRule::lower) continue;
    most = std::max(most, ++passes[view_.dump.nodes[seen].site]);
  }
  return std::min(copies(item), most * (used(item) / 2));
}

// Attention by its formula saves its weights; in 16 bits a device may have a fused kernel, which saves none (seen on an
// H100 with torch 2.11, where a masked float32 attention has no such kernel). Nobody but that formula calls
// _safe_softmax.
bool AutocastTypes::may_be_fused(const Item& item) const {
  return !cpu_ && !cautious_ && std::ranges::any_of(savers_[item.storage], [&](const Saver& saver) {
    return view_.dump.graph.class_name(saver.node).starts_with("SafeSoftmax");
  });
}

uint64_t AutocastTypes::bytes(const Item& item) {
  if (may_be_fused(item)) return 0;
  const std::vector<Saver>& savers = savers_[item.storage];
  const bool by_slots_alone = !savers.empty() && !held(item);
  if (made_float32(item)) {
    const bool stays = !by_slots_alone || std::ranges::any_of(savers, [&](const Saver& saver) {
      return saver.output || rules_[saver.node] != CastRule::lower;
    });
    return (stays ? used(item) : 0) + copies(item);
  }
  uint64_t up = 0;
  bool stays = !by_slots_alone;
  for (const Saver& saver : savers) {
    if (rules_[saver.node] == CastRule::float32 && !saver.output) {
      up += std::min(saver.nbytes, used(item));
    } else {
      stays = true;
    }
  }
  return (stays ? used(item) / 2 : 0) + up;
}

}  // namespace tensorscope::analyzer::oom
