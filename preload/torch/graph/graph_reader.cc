// SPDX-License-Identifier: Apache-2.0
#include "torch/graph/graph_reader.h"

#include <algorithm>

#include "support/whole.h"
#include "torch/graph/function_classes.h"
#include "torch/graph/graph_walk.h"
#include "torch/graph/slot_reader.h"
#include "torch/graph/wrapped_nodes.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

namespace {

constexpr size_t kSlotBatch = 2048;
constexpr size_t kLayoutSamples = 256;
constexpr char kNotAllowed[] = "the system does not permit safe reads of the nodes' memory";

// Torch does not change while the process lives: what was found in one dump serves the next, which may find fewer
// nodes.
struct Layouts {
  NodeLayout node;
  SlotLayout slot;
};
constinit Whole<Layouts> g_layouts;

class Reader {
 public:
  explicit Reader(const GraphSources& sources) : in_(sources), walk_(sources.classes) {}
  Graph run();
  const Layouts& layouts() const { return layouts_; }

 private:
  void index_nodes();
  void index_tensors();
  std::vector<uint64_t> roots() const;
  bool find_node_size();
  const char* read_slots(SlotReader& slots, const NodeExtents& extents);
  bool verify();
  void arrange(const SlotReader* slots);
  void emit(uint32_t number, bool inner, const SlotReader* slots);

  const GraphSources& in_;
  Layouts layouts_ = g_layouts.get();
  NodeLayout& layout_ = layouts_.node;
  GraphWalk walk_;
  AddressMap tensors_;  // to indices in view.tensors
  AddressMap rows_;     // nodes' addresses to indices in view.nodes
  Graph out_;
  std::vector<uint32_t> numbers_;  // of walked nodes in the chunk
};

// Rows of nodes that may be alive: those not known to be gone.
void Reader::index_nodes() {
  rows_.reserve(in_.view.nodes.size);
  for (size_t i = 0; i < in_.view.nodes.size; ++i) {
    const live::NodeEntry& row = in_.view.nodes[i];
    if (!row.removed) rows_.set(reinterpret_cast<uint64_t>(row.node), uint32_t(i));
  }
}

void Reader::index_tensors() {
  tensors_.reserve(in_.view.tensors.size);
  for (size_t i = 0; i < in_.view.tensors.size; ++i) {
    tensors_.set(reinterpret_cast<uint64_t>(in_.view.tensors[i].impl), uint32_t(i));
  }
}

std::vector<uint64_t> Reader::roots() const {
  std::vector<uint64_t> roots;
  for (uint64_t node : in_.grad_fns) {
    if (node != 0) roots.push_back(node);
  }
  if (!in_.deaths_are_told) return roots;
  for (const live::NodeEntry& row : in_.view.nodes) {
    const auto address = reinterpret_cast<uint64_t>(row.node);
    if (rows_.find(address) != AddressMap::kNone) roots.push_back(address);
  }
  return roots;
}

bool Reader::find_node_size() {
  if (layout_.size != 0) return true;
  std::vector<uint64_t> accumulators;
  for (const WalkedNode& node : walk_.nodes) {
    if (!node.alive || walk_.node_classes[node.class_number].kind != NodeKind::accumulates) continue;
    accumulators.push_back(node.address);
    if (accumulators.size() == kLayoutSamples) break;
  }
  return !accumulators.empty() && find_size(accumulators, tensors_, layout_);
}

// Null: all is read; else why not.
const char* Reader::read_slots(SlotReader& slots, const NodeExtents& extents) {
  if (!slots.learn()) return kNotAllowed;
  for (size_t begin = 0; begin < walk_.nodes.size(); begin += kSlotBatch) {
    if (!slots.read(begin, std::min(begin + kSlotBatch, walk_.nodes.size()))) return kNotAllowed;
  }
  return extents.known() ? nullptr : "the program's malloc does not report block sizes: most saved tensors are unknown";
}

// A node that changed after it was read is discarded.
bool Reader::verify() {
  std::vector<uint64_t> addresses, vtables;
  for (const WalkedNode& node : walk_.nodes) addresses.push_back(node.address);
  vtables.resize(addresses.size(), 0);
  if (!read_words_safely(addresses.data(), vtables.data(), addresses.size())) return false;
  for (size_t i = 0; i < walk_.nodes.size(); ++i) {
    WalkedNode& node = walk_.nodes[i];
    node.alive = node.alive && vtables[i] == walk_.node_classes[node.class_number].vtable;
    if (!node.alive || !in_.deaths_are_told) continue;
    const uint32_t row = rows_.find(node.address);
    if (row == AddressMap::kNone) continue;
    const auto* address = reinterpret_cast<const void*>(node.address);
    node.alive = live::node_serial_now(address) == in_.view.nodes[row].serial;
  }
  return true;
}

// A wrapped node comes right after the one that wraps it.
void Reader::arrange(const SlotReader* slots) {
  numbers_.assign(walk_.nodes.size(), AddressMap::kNone);
  std::vector<uint8_t> wrapped(walk_.nodes.size(), 0);
  for (const WalkedNode& node : walk_.nodes) {
    if (node.alive && node.inner != AddressMap::kNone) wrapped[node.inner] = 1;
  }
  std::vector<uint32_t> order;
  std::vector<uint8_t> inner;
  uint32_t next = 0;
  for (uint32_t n = 0; n < walk_.nodes.size(); ++n) {
    if (wrapped[n]) continue;
    bool is_inner = false;
    for (uint32_t at = n; at != AddressMap::kNone && walk_.nodes[at].alive && numbers_[at] == AddressMap::kNone;
         at = walk_.nodes[at].inner) {
      order.push_back(at);
      inner.push_back(is_inner);
      numbers_[at] = next++;
      is_inner = true;
    }
  }
  out_.nodes.reserve(order.size());
  for (size_t i = 0; i < order.size(); ++i) emit(order[i], inner[i], slots);
  for (const NodeClass& known : walk_.node_classes) out_.class_names.push_back(known.name);
  std::vector<uint64_t> functions;
  for (const Graph::Node& node : out_.nodes) {
    if ((node.flags & uint8_t(format::GraphNodeFlag::python)) != 0) functions.push_back(node.object);
  }
  if (!read_function_classes(functions, out_.functions)) out_.functions.clear();
  if (slots == nullptr) return;
  for (GraphSeeds::Packed seed : slots->packed) {
    if ((seed.node = numbers_[seed.node]) != AddressMap::kNone) out_.seeds.packed.push_back(seed);
  }
  for (GraphSeeds::Hook seed : slots->hooks) {
    if ((seed.node = numbers_[seed.node]) != AddressMap::kNone) out_.seeds.hooks.push_back(seed);
  }
}

void Reader::emit(uint32_t number, bool inner, const SlotReader* slots) {
  using format::GraphNodeFlag;
  const WalkedNode& walked = walk_.nodes[number];
  const NodeClass& node_class = walk_.node_classes[walked.class_number];
  Graph::Node node;
  node.address = walked.address;
  node.object = walked.object;
  node.class_number = walked.class_number;
  const uint32_t row = rows_.find(walked.address);
  if (row != AddressMap::kNone && reinterpret_cast<uint64_t>(in_.view.nodes[row].vtable) == node_class.vtable) {
    node.serial = in_.view.nodes[row].serial;
  }
  bool partial = walked.partial;
  for (uint32_t e = walked.first_edge; e < walked.first_edge + walked.edges; ++e) {
    const WalkedEdge& edge = walk_.edges[e];
    const uint32_t target = edge.node == AddressMap::kNone ? AddressMap::kNone : numbers_[edge.node];
    partial = partial || (target == AddressMap::kNone && edge.node != AddressMap::kNone);
    out_.edges.emplace_back(target, edge.input);
    ++node.edges;
  }
  if (slots != nullptr) {
    const SlotReader::NodeSlots& of = slots->nodes[number];
    node.sequence = of.sequence;
    partial = partial || !of.whole;
    for (uint32_t s = of.first; s < of.first + of.count; ++s) {
      const WalkedSlot& slot = slots->slots[s];
      const uint32_t tensor = slot.tensor == 0 ? AddressMap::kNone : tensors_.find(slot.tensor);
      const auto state = slot.hooks != 0    ? format::SlotState::packed
                         : slot.tensor != 0 ? format::SlotState::held
                                            : format::SlotState::empty;
      out_.saved.emplace_back(tensor == AddressMap::kNone ? 0 : in_.view.tensors[tensor].serial, slot.ordinal,
                              slot.element, state, uint8_t(slot.output));
      ++node.saved;
    }
  }
  if (partial) node.flags |= uint8_t(GraphNodeFlag::partial);
  if (node_class.kind == NodeKind::python) node.flags |= uint8_t(GraphNodeFlag::python);
  if (node_class.kind == NodeKind::accumulates) node.flags |= uint8_t(GraphNodeFlag::accumulates);
  if (inner) node.flags |= uint8_t(GraphNodeFlag::inner);
  out_.seeds.nodes.push_back({uint32_t(out_.nodes.size()), node.address, node.object});
  out_.nodes.push_back(node);
}

Graph Reader::run() {
  index_nodes();
  const std::vector<uint64_t> from = roots();
  if (from.empty()) {
    out_.complete = true;
    return std::move(out_);
  }
  index_tensors();
  // The first nodes of the program and the newest are of different kinds.
  std::vector<uint64_t> samples;
  const size_t step = from.size() / kLayoutSamples + 1;
  for (size_t i = 0; i < from.size(); i += step) samples.push_back(from[i]);
  if (layout_.edges == 0) {
    const Status found = find_edges(samples, in_.classes, layout_);
    out_.detail = found.why();
    if (!found) return std::move(out_);
  }

  for (uint64_t node : from) walk_.add(node);
  if (!walk_.walk(layout_)) {
    out_.detail = kNotAllowed;
    return std::move(out_);
  }
  if (!find_node_size()) {
    out_.detail = "the node size of this torch could not be determined: edges are known, saved tensors are not";
    if (verify()) arrange(nullptr);
    return std::move(out_);
  }
  NodeExtents extents(in_.classes, in_.deaths_are_told);
  SlotReader slots({walk_, layout_, tensors_, reinterpret_cast<uint64_t>(in_.undefined_tensor), in_.classes, extents,
                    layouts_.slot});
  const char* trouble = kNotAllowed;
  if (add_wrapped_nodes(layout_, extents, in_.classes, walk_)) trouble = read_slots(slots, extents);
  if (trouble == kNotAllowed || !verify()) {
    out_.detail = kNotAllowed;
    return std::move(out_);
  }
  arrange(&slots);
  if (trouble == nullptr && !in_.deaths_are_told) {
    trouble = "this torch does not report when a node is freed: nodes not reachable from a live tensor are unknown";
  }
  out_.complete = trouble == nullptr;
  if (trouble != nullptr) out_.detail = trouble;
  return std::move(out_);
}

}  // namespace

Graph read_graph(const GraphSources& sources) {
  Reader reader(sources);
  Graph graph = reader.run();
  g_layouts.set(reader.layouts());
  return graph;
}

}  // namespace tensorscope::torch
