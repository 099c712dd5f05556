// SPDX-License-Identifier: Apache-2.0
#include "oom/module_inputs.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "dump_generated.h"
#include "leaks/retention.h"
#include "oom/forward_site.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr size_t kMaxNodes = 64;  // that are looked at behind an edge: views and sums save nothing

// The outermost of these modules that has this path in it; null: none.
const std::string* module_with(const std::set<std::string>& modules, const std::string& path) {
  for (size_t end = 0; end != std::string::npos;) {
    end = path.find('.', end + 1);
    const auto found = modules.find(path.substr(0, end));
    if (found != modules.end()) return &*found;
  }
  return nullptr;
}

bool accumulates(const GraphNode& node) { return (node.flags & uint8_t(format::GraphNodeFlag::accumulates)) != 0; }

}  // namespace

const std::string& allocated_in(const View& view, uint32_t storage) {
  const uint32_t allocation = view.dump.storages[storage].allocation;
  return view.places.module_path(allocation == kNone ? 0 : view.dump.allocations[allocation].site);
}

ModuleInputs::ModuleInputs(const View& view) : view_(view), consumers_(view.dump.graph.nodes.size()) {
  const Graph& graph = view.dump.graph;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    for (const GraphEdge& edge : graph.edges_of(node)) {
      if (edge.node != kNoNode) consumers_[edge.node].push_back(node);
    }
  }
  for (const Tensor& tensor : view.dump.tensors) {
    if (tensor.grad_fn != 0) alive_.emplace(tensor.grad_fn, tensor.output);
  }
}

const std::string& ModuleInputs::path(uint32_t node) const {
  return view_.places.module_path(forward_site(view_.dump, node));
}

uint64_t ModuleInputs::not_kept(const std::set<std::string>& modules) const {
  const Graph& graph = view_.dump.graph;
  std::map<std::pair<uint32_t, uint32_t>, Input> inputs;  // by who made it
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    const std::string* module = module_with(modules, path(node));
    if (module == nullptr) continue;
    for (const GraphEdge& edge : graph.edges_of(node)) {
      if (edge.node == kNoNode || accumulates(graph.nodes[edge.node]) || graph.nodes[edge.node].seen == kNone) continue;
      if (within(path(edge.node), *module)) continue;
      Input& input = inputs[{edge.node, edge.input}];
      const uint64_t address = graph.nodes[edge.node].address;
      input.kept = input.kept || alive_.contains({address, edge.input}) || alive_.contains({address, kNone});
      if (!input.kept) look_behind(node, *module, input);
    }
  }
  uint64_t bytes = 0;
  for (const auto& [maker, input] : inputs) bytes += input.kept ? 0 : input.bytes;
  return bytes;
}

// From this node on: the first nodes that saved something.
void ModuleInputs::look_behind(uint32_t node, const std::string& module, Input& input) const {
  std::vector<uint32_t> next = {node};
  std::unordered_set<uint32_t> seen = {node};
  for (size_t i = 0; i < next.size() && i < kMaxNodes; ++i) {
    if (look_at_saved(next[i], module, input)) continue;
    for (uint32_t consumer : consumers_[next[i]]) {
      if (within(path(consumer), module) && seen.insert(consumer).second) next.push_back(consumer);
    }
  }
}

// Whether something has the size of an input. Masks and indices do not.
bool ModuleInputs::look_at_saved(uint32_t node, const std::string& module, Input& input) const {
  bool found = false;
  for (const SavedSlot& slot : view_.dump.graph.saved_of(node)) {
    if (!holds(slot)) continue;
    const Tensor& tensor = view_.dump.tensors[slot.tensor];
    if (tensor.storage == kNone || tensor.dtype_text().find("float") == std::string::npos) continue;
    const Category category = view_.holders.category(view_.holders.representative(tensor.storage));
    if (category == Category::parameter || category == Category::buffer) continue;
    found = true;
    if (!within(allocated_in(view_, tensor.storage), module)) {
      input.kept = true;
    } else {
      input.bytes = std::max(input.bytes, tensor.nbytes);
    }
  }
  return found;
}

}  // namespace tensorscope::analyzer::oom
