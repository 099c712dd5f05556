// SPDX-License-Identifier: Apache-2.0
#include "ownership/tensor_names.h"

#include <algorithm>
#include <utility>

#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxTensorNames = 256;  // of one tensor
constexpr size_t kMaxSlotNames = 32;     // where it has no other

using format::ReferenceRole;
using format::ReferenceRoot;

enum Rank : int { kGiven, kPath, kState, kGradient, kOutput, kAttribute, kGlobal, kFrame, kGarbage, kInner, kNoName };

Rank rank_of(const Reference& reference) {
  switch (ReferenceRole(reference.role)) {
    case ReferenceRole::parameter:
    case ReferenceRole::buffer:
      return kPath;
    case ReferenceRole::optimizer_state:
      return kState;
    case ReferenceRole::module_attribute:
      return kAttribute;
    default:
      break;
  }
  switch (ReferenceRoot(reference.root)) {
    case ReferenceRoot::user:
      return kGiven;
    case ReferenceRoot::output:
      return kOutput;
    case ReferenceRoot::global:
    case ReferenceRoot::class_:
      return kGlobal;
    case ReferenceRoot::local:
    case ReferenceRoot::suspended:
      return kFrame;
    case ReferenceRoot::traceback:
    case ReferenceRoot::cycle:
      return kGarbage;
    case ReferenceRoot::thread:
    case ReferenceRoot::node:
      return kInner;
    case ReferenceRoot::extension:
      return kNoName;
  }
  return kNoName;
}

class Names {
 public:
  Names(const Dump& dump, const FrameFacts& facts, const TensorLinks& links, const ModuleOutputs& outputs)
      : dump_(dump), facts_(facts), links_(links), outputs_(outputs) {}

  std::vector<std::string> of(uint32_t tensor) {
    ranked_.clear();
    bool returned = false;  // known from the call itself: inference from the graph adds nothing
    for (const Reference& reference : dump_.references.of(tensor)) {
      const Rank rank = rank_of(reference);
      if (rank != kNoName && !reference.text.empty()) ranked_.emplace_back(rank, reference.line());
      returned |= rank == kOutput;
    }
    if (!returned) {
      for (std::string& output : outputs_.names(tensor)) ranked_.emplace_back(kOutput, std::move(output));
    }
    if (const uint32_t owner = links_.gradient_of(tensor); owner != kNone) add_gradient_names(owner);
    std::stable_sort(ranked_.begin(), ranked_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (auto& [rank, name] : ranked_) {
      if (names.size() < kMaxTensorNames && std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
    if (names.empty()) add_slots(tensor, names);
    return names;
  }

 private:
  // Each path of the owner, since tied weights have one gradient; of other names the best is enough.
  void add_gradient_names(uint32_t owner) {
    const Reference* best = nullptr;
    for (const Reference& reference : dump_.references.of(owner)) {
      const Rank rank = rank_of(reference);
      if (rank == kNoName || reference.text.empty()) continue;
      if (rank == kPath) ranked_.emplace_back(kGradient, of_gradient(reference));
      if (best == nullptr || rank < rank_of(*best)) best = &reference;
    }
    if (best != nullptr && rank_of(*best) != kPath) ranked_.emplace_back(kGradient, of_gradient(*best));
  }

  static std::string of_gradient(Reference reference) {
    reference.text += ".grad";
    return reference.line();
  }

  void add_slots(uint32_t tensor, std::vector<std::string>& names) const {
    const Graph& graph = dump_.graph;
    for (const HeldSlot& held : links_.slots(tensor)) {
      if (names.size() == kMaxSlotNames) return;
      // That a leaf has an accumulator is no name.
      if ((graph.nodes[held.node].flags & uint8_t(format::GraphNodeFlag::accumulates)) != 0) continue;
      const std::string& module = node_module(dump_, facts_, held.node);
      names.push_back((module.empty() ? "" : module + ": ") + graph.class_name(held.node) + "." +
                      graph.slot_name(held.node, graph.saved[held.slot]));
    }
  }

  const Dump& dump_;
  const FrameFacts& facts_;
  const TensorLinks& links_;
  const ModuleOutputs& outputs_;
  std::vector<std::pair<Rank, std::string>> ranked_;
};

}  // namespace

std::string tensor_label(const Tensor& tensor, const std::vector<std::string>& names) {
  std::string text = "#" + std::to_string(tensor.serial);
  if (!names.empty()) text.append(" (").append(names.front()).append(")");
  return text;
}

const std::string& node_module(const Dump& dump, const FrameFacts& facts, uint32_t node) {
  const uint32_t seen = dump.graph.nodes[node].seen;
  return facts.module(seen == kNone ? 0 : dump.nodes[seen].site);
}

std::vector<std::vector<std::string>> tensor_names(const Dump& dump, const FrameFacts& facts, const TensorLinks& links,
                                                   const ModuleOutputs& outputs) {
  Names names(dump, facts, links, outputs);
  std::vector<std::vector<std::string>> result;
  result.reserve(dump.tensors.size());
  for (uint32_t tensor = 0; tensor < dump.tensors.size(); tensor++) result.push_back(names.of(tensor));
  for (uint32_t tensor = 0; tensor < dump.tensors.size(); tensor++) {
    const uint32_t owner = links.owner(tensor);
    if (owner == kNone || !result[tensor].empty() || result[owner].empty()) continue;
    result[tensor].push_back(links.part_name(tensor) + " of " + result[owner].front());
  }
  return result;
}

}  // namespace tensorscope::analyzer
