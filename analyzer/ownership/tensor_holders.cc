// SPDX-License-Identifier: Apache-2.0
#include "ownership/tensor_holders.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "dump/type_names.h"
#include "dump_generated.h"
#include "ownership/graph_roots.h"
#include "ownership/tensor_names.h"
#include "tensorscope/rules/reference_text.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxHolders = 16;  // of one tensor and kind

using format::ReferenceRole;
using format::ReferenceRoot;
using format::TensorFlag;
using format::WrapperState;
using Kind = Holder::Kind;

bool has(const Tensor& tensor, TensorFlag flag) { return (tensor.flags & uint32_t(flag)) != 0; }

using Variables = std::set<std::tuple<uint8_t, std::string, std::string>>;  // root, scope, name

// Variables that hold modules: paths of parameters begin with them, without a scope.
Variables module_variables(const Dump& dump) {
  Variables variables;
  for (const Reference& reference : dump.references.rows) {
    const ReferenceRole role = ReferenceRole(reference.role);
    if (role != ReferenceRole::parameter && role != ReferenceRole::buffer) continue;
    variables.emplace(reference.root, reference.scope, std::string(rules::variable_of(reference.text)));
  }
  return variables;
}

// One variable is one root, also where it holds a module whose parameters are called without its scope.
std::string root_of(Reference reference, const Variables& modules) {
  switch (ReferenceRoot(reference.root)) {
    case ReferenceRoot::cycle:
      return "unreachable cycles";
    case ReferenceRoot::node:
      return "autograd graph";
    default:
      reference.text.resize(rules::variable_of(reference.text).size());
      return modules.contains({reference.root, reference.scope, reference.text}) ? reference.text : reference.line();
  }
}

Kind kind_of(const Reference& reference) {
  switch (ReferenceRoot(reference.root)) {
    case ReferenceRoot::cycle:
      return Kind::cycle;
    case ReferenceRoot::traceback:
      return Kind::traceback;
    case ReferenceRoot::node:
      return Kind::saved;
    default:
      return Kind::python;
  }
}

class HolderTexts {
 public:
  HolderTexts(const Dump& dump, const FrameFacts& facts, const TensorLinks& links,
              const std::vector<std::vector<std::string>>& names)
      : dump_(dump),
        facts_(facts),
        links_(links),
        names_(names),
        roots_(dump, links),
        modules_(module_variables(dump)),
        out_(dump.tensors.size()) {}

  std::vector<TensorHolders> all() {
    for (uint32_t i = 0; i < out_.size(); i++) {
      add_gradient(i);
      add_python(i);
      add_slots(i);
    }
    for (uint32_t i = 0; i < out_.size(); i++) add_owner(i);
    // What only has its storage in common with something that is held, and then what has nothing.
    direct_.resize(out_.size());
    for (uint32_t i = 0; i < out_.size(); i++) direct_[i] = !out_[i].first.empty();
    for (const Storage& storage : dump_.storages) add_storage_mates(storage);
    for (uint32_t i = 0; i < out_.size(); i++) {
      if (out_[i].first.empty()) add_last_resort(i);
    }
    return std::move(out_);
  }

 private:
  std::string label(uint32_t tensor) const { return tensor_label(dump_.tensors[tensor], names_[tensor]); }

  void add(uint32_t tensor, Holder holder, size_t count = 1) {
    if (holder.brief.empty()) holder.brief = holder.text;
    out_[tensor].first.push_back(std::move(holder));
    out_[tensor].count += uint32_t(count);
  }

  void add_gradient(uint32_t tensor) {
    const uint32_t owner = links_.gradient_of(tensor);
    if (owner == kNone) return;
    Holder holder{Kind::gradient, "gradient of ", "", "", kNone, owner};
    holder.text += names_[owner].empty() ? label(owner) : names_[owner].front();
    holder.brief = names_[owner].empty() ? "gradients" : holder.text;
    const auto references = dump_.references.of(owner);
    holder.root = references.empty() ? "gradients" : root_of(references.front(), modules_);
    for (const Reference& reference : references) {
      if (ReferenceRole(reference.role) == ReferenceRole::parameter) holder.root = root_of(reference, modules_);
    }
    add(tensor, std::move(holder));
  }

  // After the owner's own holders: what a sparse tensor is grouped by is what its values are grouped by.
  void add_owner(uint32_t tensor) {
    const uint32_t owner = links_.owner(tensor);
    if (owner == kNone) return;
    const std::string part = links_.part_name(tensor) + " of ";
    Holder holder{Kind::part, part + label(owner), "", "", kNone, owner};
    holder.brief = part + (names_[owner].empty() ? "another tensor" : names_[owner].front());
    holder.root = out_[owner].first.empty() ? holder.brief : out_[owner].first.front().root;
    add(tensor, std::move(holder));
  }

  void add_python(uint32_t tensor) {
    std::vector<const Reference*> rows;
    for (const Reference& reference : dump_.references.of(tensor)) {
      if (!rules::is_only_a_name(ReferenceRoot(reference.root))) rows.push_back(&reference);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Reference* a, const Reference* b) {
      return rules::names_holder_before(a->view(), b->view());
    });
    for (size_t i = 0; i < std::min(rows.size(), kMaxHolders); i++) {
      const Reference& reference = *rows[i];
      Holder holder{kind_of(reference), reference.line(), "", root_of(reference, modules_)};
      if (holder.text.empty()) holder.text = "Python";
      if (holder.root.empty()) holder.root = holder.text;
      holder.brief = reference.holder_line();
      if (reference.node != kNoNode) {
        holder.node = reference.node;
        holder.brief = roots_.brief_chain("saved by " + holder.text, reference.node);
        holder.text = roots_.chain("saved by " + holder.text, reference.node);
        holder.root = graph_root(reference.node);
      }
      add(tensor, std::move(holder), 0);
    }
    const References& references = dump_.references;
    const TensorObject* object = references.present ? &references.tensors[tensor] : nullptr;
    out_[tensor].count += std::max(uint32_t(rows.size()), object != nullptr ? object->references : 0);
    if (!rows.empty() || object == nullptr || !object->known) return;
    if (WrapperState(object->state) == WrapperState::garbage) {
      add(tensor, {Kind::cycle, "an unreachable cycle", "", "unreachable cycles"}, object->references == 0);
    } else if (WrapperState(object->state) == WrapperState::referenced) {
      const std::string why = references.complete ? "" : " (" + references.detail + ")";
      add(tensor, {Kind::python, "Python objects that were not traced to a variable" + why, "", "Python, not traced"},
          object->references == 0);
    }
  }

  std::string graph_root(uint32_t node) const {
    if (!roots_.rooted(node)) return "autograd graph";
    // "train.py: losses[3]" and "loss (local of main)": the variable, without what is behind it.
    const std::string& root = roots_.root(node);
    const size_t colon = root.find(": ");
    const size_t begin = colon == std::string::npos ? 0 : colon + 2;
    const size_t end = root.find_first_of(".[{ ", begin);
    const size_t scope = root.rfind(" (");
    std::string text = root.substr(0, end);
    if (scope != std::string::npos && end != std::string::npos) text += root.substr(scope);
    return "graph of " + text;
  }

  void add_slots(uint32_t tensor) {
    const Graph& graph = dump_.graph;
    std::vector<HeldSlot> saved, accumulators;
    for (const HeldSlot& held : links_.slots(tensor)) {
      (links_.accumulates(held.node) ? accumulators : saved).push_back(held);
    }
    std::stable_sort(saved.begin(), saved.end(), [&](const HeldSlot& a, const HeldSlot& b) {
      const bool rooted_a = roots_.rooted(a.node), rooted_b = roots_.rooted(b.node);
      if (rooted_a != rooted_b) return rooted_a;
      return roots_.distance(a.node) < roots_.distance(b.node);
    });
    for (const HeldSlot& held : saved) {
      if (&held - saved.data() >= ptrdiff_t(kMaxHolders)) break;
      const std::string begin =
          "saved by " + graph.class_name(held.node) + "." + graph.slot_name(held.node, graph.saved[held.slot]);
      add(tensor, {Kind::saved, roots_.chain(begin, held.node), roots_.brief_chain(begin, held.node),
                   graph_root(held.node), held.node});
    }
    if (saved.size() > kMaxHolders) out_[tensor].count += uint32_t(saved.size() - kMaxHolders);
    for (const HeldSlot& held : accumulators) {
      const std::string begin = "leaf of " + graph.class_name(held.node);
      add(tensor, {Kind::accumulator, roots_.chain(begin, held.node), roots_.brief_chain(begin, held.node),
                   graph_root(held.node), held.node});
    }
  }

  // A view keeps its base; otherwise the memory at least has a reason.
  void add_storage_mates(const Storage& storage) {
    uint32_t view = kNone, mate = kNone;
    for (uint32_t tensor : storage.tensors) {
      if (!direct_[tensor]) continue;
      if (mate == kNone) mate = tensor;
      if (view == kNone && has(dump_.tensors[tensor], TensorFlag::view)) view = tensor;
    }
    if (mate == kNone) return;
    for (uint32_t tensor : storage.tensors) {
      if (direct_[tensor]) continue;
      const bool base = view != kNone && !has(dump_.tensors[tensor], TensorFlag::view);
      const uint32_t other = base ? view : mate;
      const std::string what = base ? "base of the view " : "same storage as ";
      const std::vector<std::string>& names = names_[other];
      const std::string brief =
          names.empty() ? (base ? "base of a view" : "same storage as another tensor") : what + names.front();
      add(tensor, {base ? Kind::view : Kind::storage, what + label(other), brief, out_[other].first.front().root, kNone,
                   other});
    }
  }

  void add_last_resort(uint32_t tensor) {
    const Tensor& row = dump_.tensors[tensor];
    if (has(row, TensorFlag::freed_during_dump))
      return add(tensor, {Kind::cpp, "freed during the dump", "", "gone"}, 0);
    if (has(row, TensorFlag::released)) {
      return add(tensor, {Kind::cpp, "weak references only", "", "weak references"}, 0);
    }
    const References& references = dump_.references;
    if (!references.present) return;
    if (references.freed(tensor)) {
      const std::string why = "freed before names were looked up";
      return add(tensor, {Kind::unknown, why, "", why}, 0);
    }
    if (!references.complete && !references.tensors[tensor].known) {
      return add(tensor, {Kind::unknown, "not known: " + references.detail, "holder not known", kNotLookedUp}, 0);
    }
    // A node that was not read may have saved it.
    if (!dump_.graph.whole()) {
      return add(tensor, {Kind::unknown, "not known: " + dump_.graph.gap(), "holder not known", kNotLookedUp}, 0);
    }
    std::string text = "C++ only";
    const std::string place = facts_.place(row.site);
    if (const uint32_t node = links_.made_in_backward_of(tensor); node != kNone) {
      text += ", made in the backward of " + last_component(dump_.nodes[node].class_name);
    } else if (!place.empty()) {
      text += ", made at " + place;
    }
    add(tensor, {Kind::cpp, std::move(text), "C++ only", "C++ only"});
  }

  const Dump& dump_;
  const FrameFacts& facts_;
  const TensorLinks& links_;
  const std::vector<std::vector<std::string>>& names_;
  const GraphRoots roots_;
  const Variables modules_;
  std::vector<TensorHolders> out_;
  std::vector<uint8_t> direct_;  // by tensor: something holds it itself
};

}  // namespace

std::vector<TensorHolders> tensor_holders(const Dump& dump, const FrameFacts& facts, const TensorLinks& links,
                                          const std::vector<std::vector<std::string>>& names) {
  return HolderTexts(dump, facts, links, names).all();
}

}  // namespace tensorscope::analyzer
