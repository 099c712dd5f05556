// SPDX-License-Identifier: Apache-2.0
#include "autograd/graph_drawing.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxClasses = 6;  // named in one box

class Drawer {
 public:
  Drawer(const GraphView& view, const GraphBoxes& boxes, const DrawingOptions& options)
      : view_(view), boxes_(boxes), options_(options) {}

  GraphDrawing draw(std::span<const uint32_t> nodes, std::span<const uint32_t> outputs) {
    out_.how = boxes_.how;
    out_.depth = boxes_.depth;
    out_.nodes = nodes.size();
    for (uint32_t node : nodes) {
      if (!view_.walk.accumulates(node)) continue;
      for (uint32_t tensor : view_.tensors.tensors_of(node)) leaf_storages_.insert(view_.dump.tensors[tensor].storage);
    }
    for (const GraphBox& box : boxes_.boxes) out_.boxes.push_back(box.is_leaf ? leaf_box(box) : operation_box(box));
    for (const GraphBoxEdge& edge : boxes_.edges) {
      out_.edges.push_back({edge.from, edge.to, edge.count, edge.order, false});
    }
    if (options_.saved && boxes_.how == Collapse::none) add_saved();
    for (uint32_t tensor : outputs) add_output(tensor);
    add_bases_of_leaves();
    return std::move(out_);
  }

 private:
  std::string classes(const std::vector<uint32_t>& nodes) const {
    std::vector<std::pair<uint32_t, uint64_t>> counts;  // in order of appearance
    std::unordered_map<uint32_t, size_t> at;
    for (uint32_t node : nodes) {
      auto [found, fresh] = at.try_emplace(view_.graph.nodes[node].class_name, counts.size());
      if (fresh) counts.emplace_back(found->first, 0);
      ++counts[found->second].second;
    }
    std::string text;
    for (size_t i = 0; i < counts.size() && i < kMaxClasses; ++i) {
      text += (i > 0 ? ", " : "") + view_.graph.class_names[counts[i].first];
      if (counts[i].second > 1) text += " x" + std::to_string(counts[i].second);
    }
    if (counts.size() > kMaxClasses) text += " and " + std::to_string(counts.size() - kMaxClasses) + " more";
    return text;
  }

  DrawnBox operation_box(const GraphBox& in) {
    DrawnBox box;
    const bool single = boxes_.how == Collapse::none;
    box.kind = single || in.path.empty() ? DrawnBox::Kind::function : DrawnBox::Kind::module;
    box.nodes = in.nodes;
    box.leaves = in.leaves;
    box.classes = classes(in.nodes);
    box.place = in.place;
    box.module = in.path;
    box.indices = in.indices;
    box.calls = in.calls;
    if (single) {
      box.title = view_.graph.class_name(in.nodes.front());
    } else {
      box.title = !in.path.empty() ? in.path : !in.place.empty() ? in.place : box.classes;
    }
    for (uint32_t node : in.nodes) {
      if (buffers_freed(view_.graph, node)) ++box.freed_nodes;
      for (const SavedSlot& slot : view_.graph.saved_of(node)) {
        if (slot.state == uint8_t(format::SlotState::packed)) ++box.packed_slots;
        if (slot.state != uint8_t(format::SlotState::held) || slot.tensor == kNone) continue;
        const uint32_t storage = view_.dump.tensors[slot.tensor].storage;
        if (storage == kNone || leaf_storages_.contains(storage)) continue;
        if (seen_storages_.insert(storage).second) box.saved_bytes += view_.dump.storages[storage].own_nbytes;
      }
    }
    return box;
  }

  DrawnBox leaf_box(const GraphBox& in) const {
    DrawnBox box;
    box.kind = DrawnBox::Kind::leaf;
    box.nodes = in.nodes;
    box.classes = classes(in.nodes);
    if (in.nodes.size() == 1) {
      const auto tensors = view_.tensors.tensors_of(in.nodes.front());
      if (!tensors.empty()) box.tensor = tensors.front();
    }
    return box;
  }

  uint32_t tensor_box(DrawnBox::Kind kind, uint32_t tensor) {
    DrawnBox box;
    box.kind = kind;
    box.tensor = tensor;
    box.title = view_.title(tensor);
    out_.boxes.push_back(std::move(box));
    return uint32_t(out_.boxes.size() - 1);
  }

  void add_saved() {
    std::map<uint32_t, uint32_t> box_of;  // a tensor that several nodes saved has one box
    std::map<std::pair<uint32_t, uint32_t>, size_t> edge_of;
    for (uint32_t number = 0; number < boxes_.boxes.size(); ++number) {
      if (boxes_.boxes[number].is_leaf) continue;
      for (uint32_t node : boxes_.boxes[number].nodes) {
        for (const SavedSlot& slot : view_.graph.saved_of(node)) {
          if (slot.tensor == kNone || slot.state != uint8_t(format::SlotState::held)) continue;
          auto [found, fresh] = box_of.try_emplace(slot.tensor, 0);
          if (fresh) {
            found->second = tensor_box(DrawnBox::Kind::saved, slot.tensor);
            out_.boxes[found->second].classes = view_.graph.class_name(node) + "." + view_.graph.slot_name(node, slot);
          }
          auto [edge, first] = edge_of.try_emplace({found->second, number}, out_.edges.size());
          if (first) {
            out_.edges.push_back({found->second, number, 1, 0, false});
          } else {
            ++out_.edges[edge->second].count;
          }
        }
      }
    }
  }

  void add_output(uint32_t tensor) {
    const uint32_t node = view_.tensors.node_of(tensor);
    if (node == kNoNode || boxes_.box_of[node] == kNoNode || view_.walk.accumulates(node)) return;
    const uint32_t box = tensor_box(DrawnBox::Kind::output, tensor);
    out_.edges.push_back({boxes_.box_of[node], box, 1, 0, false});
    add_base(tensor, box);
  }

  void add_base(uint32_t tensor, uint32_t box) {
    const uint32_t base = base_of_view(view_.dump, tensor);
    if (base == kNone) return;
    auto [found, fresh] = base_boxes_.try_emplace(base, 0);
    if (fresh) found->second = tensor_box(DrawnBox::Kind::base, base);
    out_.edges.push_back({found->second, box, 1, 0, true});
  }

  void add_bases_of_leaves() {
    for (uint32_t number = 0; number < boxes_.boxes.size(); ++number) {
      const uint32_t tensor = out_.boxes[number].tensor;
      if (boxes_.boxes[number].is_leaf && tensor != kNone) add_base(tensor, number);
    }
  }

  const GraphView& view_;
  const GraphBoxes& boxes_;
  const DrawingOptions& options_;
  std::unordered_set<uint32_t> leaf_storages_, seen_storages_;
  std::map<uint32_t, uint32_t> base_boxes_;  // by tensor
  GraphDrawing out_;
};

}  // namespace

const char* text(DrawnBox::Kind kind) {
  switch (kind) {
    case DrawnBox::Kind::function:
      return "function";
    case DrawnBox::Kind::module:
      return "module";
    case DrawnBox::Kind::leaf:
      return "leaf";
    case DrawnBox::Kind::saved:
      return "saved tensor";
    case DrawnBox::Kind::output:
      return "output";
    case DrawnBox::Kind::base:
      break;
  }
  return "view base";
}

GraphDrawing graph_drawing(const GraphView& view, std::span<const uint32_t> nodes, std::span<const uint32_t> outputs,
                           const DrawingOptions& options) {
  const NodePlaces places = view.node_places(nodes);
  const GraphBoxes boxes = options.how ? collapse(view.graph, view.walk, nodes, places, *options.how)
                                       : collapse_to(view.graph, view.walk, nodes, places, kReadableBoxes);
  return Drawer(view, boxes, options).draw(nodes, outputs);
}

uint32_t base_of_view(const Dump& dump, uint32_t tensor) {
  const Tensor& view = dump.tensors[tensor];
  if (!view.is_view() || view.storage == kNone) return kNone;
  uint32_t base = kNone;
  for (uint32_t other : dump.storages[view.storage].tensors) {
    if (other == tensor || dump.tensors[other].is_view()) continue;
    if (base == kNone || dump.tensors[other].nbytes > dump.tensors[base].nbytes) base = other;
  }
  return base;
}

}  // namespace tensorscope::analyzer
