#include "ownership/holders.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "dump/type_names.h"
#include "dump_generated.h"
#include "ownership/graph_roots.h"
#include "ownership/memory_category.h"
#include "ownership/module_outputs.h"
#include "ownership/names_of_run.h"
#include "ownership/tensor_links.h"
#include "ownership/tensor_names.h"
#include "symbols/frame_facts.h"
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

// The variable that a chain begins with, which stands for everything behind it: "losses[3]['x']" -> "losses".
std::string variable_of(const std::string& text) { return text.substr(0, text.find_first_of(".[")); }

using Variables = std::set<std::tuple<uint8_t, std::string, std::string>>;  // root, scope, name

// Variables that hold modules: paths of parameters begin with them, without a scope.
Variables module_variables(const Dump& dump) {
  Variables variables;
  for (const Reference& reference : dump.references.rows) {
    const ReferenceRole role = ReferenceRole(reference.role);
    if (role != ReferenceRole::parameter && role != ReferenceRole::buffer) continue;
    variables.emplace(reference.root, reference.scope, variable_of(reference.text));
  }
  return variables;
}

// One variable is one root, also where it holds a module whose parameters are called without its scope.
std::string root_of(Reference reference, const Variables& modules) {
  switch (ReferenceRoot(reference.root)) {
    case ReferenceRoot::cycle:
      return "unreachable cycles";
    case ReferenceRoot::extension:
      return "C code";
    case ReferenceRoot::node:
      return "autograd graph";
    default:
      reference.text = variable_of(reference.text);
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

}  // namespace

class Holders::Builder {
 public:
  Builder(const Dump& dump, Symbols* symbols, const NamesOfRun* names, Holders& out)
      : dump_(dump),
        names_(names),
        out_(out.tensors_),
        speakers_(out.speakers_),
        facts_(dump),
        links_(dump),
        native_(dump, symbols),
        roots_(dump, links_),
        modules_(module_variables(dump)),
        outputs_(module_outputs(dump, facts_, links_)) {
    out_.resize(dump.tensors.size());
  }

  void build() {
    auto names = tensor_names(dump_, facts_, links_, outputs_);
    for (uint32_t i = 0; i < out_.size(); i++) out_[i].names = std::move(names[i]);
    for (uint32_t i = 0; i < out_.size(); i++) {
      const uint32_t owner = links_.owner(i);
      if (owner == kNone || !out_[i].names.empty() || out_[owner].names.empty()) continue;
      out_[i].names.push_back(links_.part_name(i) + " of " + out_[owner].names.front());
    }
    for (uint32_t i = 0; i < out_.size(); i++) {
      add_gradient(i);
      add_python(i);
      add_slots(i);
    }
    for (uint32_t i = 0; i < out_.size(); i++) add_owner(i);
    // What only has its storage in common with something that is held, and then what has nothing.
    direct_.resize(out_.size());
    for (uint32_t i = 0; i < out_.size(); i++) direct_[i] = !out_[i].holders.empty();
    for (const Storage& storage : dump_.storages) add_storage_mates(storage);
    for (uint32_t i = 0; i < out_.size(); i++) {
      if (out_[i].holders.empty()) add_last_resort(i);
    }
    find_modules();
    if (names_) take_names();
    find_categories();
  }

 private:
  // How to speak of a tensor: "#12 (model.fc1.weight)".
  std::string label(uint32_t tensor) const {
    std::string text = "#" + std::to_string(dump_.tensors[tensor].serial);
    return out_[tensor].names.empty() ? text : text + " (" + out_[tensor].names.front() + ")";
  }

  void add(uint32_t tensor, Holder holder, size_t count = 1) {
    if (holder.brief.empty()) holder.brief = holder.text;
    out_[tensor].holders.push_back(std::move(holder));
    out_[tensor].holder_count += uint32_t(count);
  }

  void add_gradient(uint32_t tensor) {
    const uint32_t owner = links_.gradient_of(tensor);
    if (owner == kNone) return;
    Holder holder{Kind::gradient, "gradient of ", "", "", kNone, owner};
    holder.text += out_[owner].names.empty() ? label(owner) : out_[owner].names.front();
    holder.brief = out_[owner].names.empty() ? "gradients" : holder.text;
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
    holder.brief = part + (out_[owner].names.empty() ? "another tensor" : out_[owner].names.front());
    holder.root = out_[owner].holders.empty() ? holder.brief : out_[owner].holders.front().root;
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
    out_[tensor].holder_count += std::max(uint32_t(rows.size()), object != nullptr ? object->references : 0);
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
    const size_t end = root.find_first_of(".[ ", begin);
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
    if (saved.size() > kMaxHolders) out_[tensor].holder_count += uint32_t(saved.size() - kMaxHolders);
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
      const std::vector<std::string>& names = out_[other].names;
      const std::string brief =
          names.empty() ? (base ? "base of a view" : "same storage as another tensor") : what + names.front();
      add(tensor, {base ? Kind::view : Kind::storage, what + label(other), brief, out_[other].holders.front().root,
                   kNone, other});
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
      return add(tensor, {Kind::cpp, "freed before names were looked up", "", "freed before names were looked up"}, 0);
    }
    if (!references.complete && !references.tensors[tensor].known) {
      return add(tensor, {Kind::cpp, "not known: " + references.detail, "", "not known"}, 0);
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

  // Paths of parameters and buffers end in the module's own name for them.
  std::string module_in_python(uint32_t tensor) const {
    for (const Reference& reference : dump_.references.of(tensor)) {
      const ReferenceRole role = ReferenceRole(reference.role);
      if (role == ReferenceRole::parameter || role == ReferenceRole::buffer) {
        const size_t dot = reference.text.rfind('.');
        return dot == std::string::npos ? "" : reference.text.substr(0, dot);
      }
    }
    return "";
  }

  // "Adam.state['fc1.weight'].exp_avg" belongs to the module of the parameter that is called so, with or without the
  // variable that holds the model.
  void find_modules() {
    std::unordered_map<std::string, std::string> owners;  // parameter -> module; "" where two models have one so named
    for (uint32_t i = 0; i < out_.size(); i++) {
      out_[i].module = module_in_python(i);
      if (out_[i].module.empty()) continue;
      for (const Reference& reference : dump_.references.of(i)) {
        if (ReferenceRole(reference.role) != ReferenceRole::parameter) continue;
        const std::string& path = reference.text;
        const size_t dot = path.rfind('.');
        if (dot == std::string::npos) continue;
        owners[path] = path.substr(0, dot);
        const std::string inner = path.substr(path.find('.') + 1);
        auto [found, fresh] = owners.try_emplace(inner, path.substr(0, dot));
        if (!fresh && found->second != path.substr(0, dot)) found->second.clear();
      }
    }
    for (uint32_t i = 0; i < out_.size(); i++) {
      if (!out_[i].module.empty()) continue;
      const uint32_t owner = links_.gradient_of(i);
      out_[i].module = owner != kNone ? module_in_python(owner) : module_of_state(i, owners);
      if (out_[i].module.empty()) out_[i].module = module_by_creation(i);
    }
  }

  std::string module_of_state(uint32_t tensor, const std::unordered_map<std::string, std::string>& owners) const {
    for (const Reference& reference : dump_.references.of(tensor)) {
      if (ReferenceRole(reference.role) != ReferenceRole::optimizer_state) continue;
      const size_t begin = reference.text.find("['");
      const size_t end = reference.text.find("']", begin == std::string::npos ? 0 : begin);
      if (begin == std::string::npos || end == std::string::npos) continue;
      auto found = owners.find(reference.text.substr(begin + 2, end - begin - 2));
      if (found != owners.end()) return found->second;
    }
    return "";
  }

  std::string module_by_creation(uint32_t tensor) const {
    if (const uint32_t creator = links_.creator(tensor); creator != kNoNode) {
      const std::string& module = node_module(dump_, facts_, creator);
      if (!module.empty()) return module;
    }
    const std::string& module = facts_.module(dump_.tensors[tensor].site);
    if (!module.empty()) return module;
    const uint32_t node = links_.made_in_backward_of(tensor);
    return node == kNone ? "" : facts_.module(dump_.nodes[node].site);
  }

  // Of tensors that are in a dump of the same run, what that says.
  void take_names() {
    for (uint32_t i = 0; i < out_.size(); i++) {
      const KnownTensor* known = names_->tensor(dump_.tensors[i].serial);
      if (!known) continue;
      out_[i].names = known->names;
      if (!known->holders.empty()) out_[i].holders = known->holders;
      out_[i].holder_count = known->holder_count;
      if (!known->module.empty()) out_[i].module = known->module;
    }
  }

  // A moment has no evidence of its own but stacks: a dump's, or how its memory went on.
  std::vector<CategoryEvidence> moment_categories() {
    std::vector<CategoryEvidence> findings(out_.size());
    const MemoryCategories categories(dump_, names_);
    for (uint32_t i = 0; i < out_.size(); i++) {
      const KnownTensor* known = names_ ? names_->tensor(dump_.tensors[i].serial) : nullptr;
      const uint32_t storage = dump_.tensors[i].storage;
      const uint32_t memory = storage == kNone ? kNone : dump_.storages[storage].allocation;
      if (memory != kNone) {
        const Allocation& row = dump_.allocations[memory];
        const MemoryCategory found = categories.of(row.serial, row.site, row.node != 0, dump_.lives[memory]);
        findings[i] = {found.category, found.why};
        out_[i].source = found.source;
        if (found.source == CategorySource::inferred) findings[i].evidence.insert(0, "inferred: ");
        if (found.source != CategorySource::dump) continue;
        findings[i].evidence = known ? known->evidence : "its memory is in a dump of this run";
      } else if (known && known->category != Category::unknown) {
        findings[i] = {known->category, known->evidence};
        out_[i].source = CategorySource::dump;
      }
    }
    return findings;
  }

  std::vector<CategoryEvidence> categories_here() {
    if (dump_.moment) return moment_categories();
    std::vector<CategoryEvidence> findings = analyzer::find_categories(dump_, facts_, links_, native_, outputs_);
    for (uint32_t i = 0; i < out_.size(); i++) {
      if (findings[i].category != Category::unknown) out_[i].source = CategorySource::dump;
    }
    return findings;
  }

  void find_categories() {
    std::vector<CategoryEvidence> findings = categories_here();
    for (uint32_t i = 0; i < out_.size(); i++) {
      const uint32_t owner = links_.owner(i);
      if (owner == kNone || !stronger(findings[owner].category, findings[i].category)) continue;
      findings[i] = {findings[owner].category,
                     links_.part_name(i) + " of " + label(owner) + ", " + findings[owner].evidence};
      out_[i].source = out_[owner].source;
    }
    for (uint32_t i = 0; i < out_.size(); i++) {
      out_[i].category = findings[i].category;
      out_[i].evidence = findings[i].evidence;
    }
    speakers_.reserve(dump_.storages.size());
    for (const Storage& storage : dump_.storages) {
      uint32_t best = storage.tensors.front();
      for (uint32_t tensor : storage.tensors) {
        const Category category = findings[tensor].category, so_far = findings[best].category;
        if (stronger(category, so_far) ||
            (category == so_far && out_[best].names.empty() && !out_[tensor].names.empty())) {
          best = tensor;
        }
      }
      speakers_.push_back(best);
      for (uint32_t tensor : storage.tensors) {
        if (!stronger(findings[best].category, findings[tensor].category)) continue;
        out_[tensor].category = findings[best].category;
        out_[tensor].source = out_[best].source;
        out_[tensor].evidence = "shares the storage of " + label(best) + ", " + findings[best].evidence;
      }
    }
  }

  const Dump& dump_;
  const NamesOfRun* names_;
  std::vector<Entry>& out_;
  std::vector<uint32_t>& speakers_;
  const FrameFacts facts_;
  const TensorLinks links_;
  const NativeFacts native_;
  const GraphRoots roots_;
  const Variables modules_;
  const std::vector<std::vector<std::string>> outputs_;
  std::vector<uint8_t> direct_;  // by tensor: something holds it itself
};

Holders::Holders(const Dump& dump, Symbols* symbols, const NamesOfRun* names) {
  Builder(dump, symbols, names, *this).build();
}

std::string Holders::name(uint32_t tensor) const {
  const std::vector<std::string>& names = tensors_[tensor].names;
  return names.empty() ? "" : names.front();
}

}  // namespace tensorscope::analyzer
