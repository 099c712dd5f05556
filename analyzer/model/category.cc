#include "model/category.h"

#include <algorithm>

#include "dump_generated.h"
#include "model/type_names.h"

namespace tensorscope::model {

namespace {

using dump::ReferenceRole;
using dump::ReferenceRoot;
using dump::TensorFlag;
using dump::TensorKnown;
using dump::WrapperState;

bool set(const Tensor& tensor, TensorKnown known, TensorFlag flag) {
  return (tensor.known & uint32_t(known)) != 0 && (tensor.flags & uint32_t(flag)) != 0;
}

// "model.fc1.weight" -> "model.fc1"
std::string owner_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "a module" : path.substr(0, dot);
}

class Judge {
 public:
  Judge(const Dump& dump, const FrameFacts& facts, const TensorLinks& links, const NativeFacts& native,
        const std::vector<std::vector<std::string>>& outputs)
      : dump_(dump), facts_(facts), links_(links), native_(native), outputs_(outputs) {}

  Finding of(uint32_t tensor) const {
    for (auto rule : {&Judge::parameter, &Judge::buffer, &Judge::gradient, &Judge::optimizer_state, &Judge::within,
                      &Judge::input_batch, &Judge::saved, &Judge::communication_bucket, &Judge::in_torch,
                      &Judge::held_by_program, &Judge::cache, &Judge::temporary}) {
      Finding finding = (this->*rule)(tensor);
      if (finding.category != Category::unknown) return finding;
    }
    return {};
  }

 private:
  const Reference* with_role(uint32_t tensor, ReferenceRole role) const {
    for (const Reference& reference : dump_.references.of(tensor)) {
      if (ReferenceRole(reference.role) == role) return &reference;
    }
    return nullptr;
  }
  const TensorObject* object(uint32_t tensor) const {
    const References& references = dump_.references;
    return references.present && references.tensors[tensor].known ? &references.tensors[tensor] : nullptr;
  }
  // Python was looked through, and nothing in it refers to the tensor.
  bool only_cpp(uint32_t tensor) const {
    if (!dump_.references.complete || !dump_.references.of(tensor).empty() || dump_.references.freed(tensor))
      return false;
    const TensorObject* known = object(tensor);
    return known == nullptr || WrapperState(known->state) <= WrapperState::kept_by_cpp;
  }

  Finding parameter(uint32_t tensor) const {
    if (const Reference* reference = with_role(tensor, ReferenceRole::parameter)) {
      return {Category::parameter, "in " + owner_of(reference->text) + "'s parameters"};
    }
    if (const TensorObject* known = object(tensor)) {
      if (known->optimized) return {Category::parameter, "in the param_groups of an optimizer"};
      if (known->trained) return {Category::parameter, "a torch.nn.Parameter"};
      return {};
    }
    // Without Python's word: what is trained has a gradient, or was made by torch.nn itself.
    const Tensor& row = dump_.tensors[tensor];
    const bool trained = set(row, TensorKnown::leaf, TensorFlag::leaf) &&
                         set(row, TensorKnown::requires_grad, TensorFlag::requires_grad);
    if (!trained || links_.gradient_of(tensor) != kNone) return {};
    if (row.grad != 0) return {Category::parameter, "a leaf that has a gradient"};
    if (facts_.in_module_code(row.site) || native_.makes_module(memory_site(tensor))) {
      return {Category::parameter, "a leaf that torch.nn made"};
    }
    return {};
  }

  Finding buffer(uint32_t tensor) const {
    if (const Reference* reference = with_role(tensor, ReferenceRole::buffer)) {
      return {Category::buffer, "in " + owner_of(reference->text) + "'s buffers"};
    }
    if (!native_.makes_module(memory_site(tensor))) return {};
    return {Category::buffer, "made by torch::nn, and trained by nothing"};
  }

  Finding gradient(uint32_t tensor) const {
    const uint32_t owner = links_.gradient_of(tensor);
    if (owner == kNone) return {};
    const Reference* named = with_role(owner, ReferenceRole::parameter);
    return {Category::gradient,
            "the .grad of " + (named != nullptr ? named->text : "#" + std::to_string(dump_.tensors[owner].serial))};
  }

  Finding optimizer_state(uint32_t tensor) const {
    if (const Reference* reference = with_role(tensor, ReferenceRole::optimizer_state)) {
      return {Category::optimizer_state, "in an optimizer's state, " + reference->text};
    }
    if (native_.in_optimizer(memory_site(tensor))) return {Category::optimizer_state, "made by torch::optim"};
    if (dump_.references.complete || !facts_.in_optimizer(dump_.tensors[tensor].site)) return {};
    return {Category::optimizer_state, "made by torch.optim"};
  }

  // What a reference leads through, by the class of an object on the way.
  Finding within(uint32_t tensor) const {
    const TensorObject* known = object(tensor);
    if (known == nullptr) return {};
    switch (dump::ReferenceWithin(known->within)) {
      case dump::ReferenceWithin::dataset:
        return {Category::dataset, "in a torch.utils.data.Dataset, " + known->within_text};
      case dump::ReferenceWithin::kv_cache:
        return {Category::kv_cache, "in a cache of transformers, " + known->within_text};
      case dump::ReferenceWithin::nothing:
        break;
    }
    return {};
  }

  Finding input_batch(uint32_t tensor) const {
    const uint32_t site = dump_.tensors[tensor].site;
    if (facts_.in_data_loading(site)) return {Category::input_batch, "made by torch.utils.data"};
    if (facts_.from_other_process(site)) {
      return {Category::input_batch, "came from another process, by torch.multiprocessing"};
    }
    if (native_.in_data_loading(memory_site(tensor))) return {Category::input_batch, "made by torch::data"};
    return {};
  }

  Finding communication_bucket(uint32_t tensor) const {
    const uint32_t site = memory_site(tensor);
    if (!held_in_python(tensor).empty()) return {};
    if (facts_.in_communication(site)) return {Category::communication_bucket, "made by torch.distributed"};
    if (native_.in_communication(site)) return {Category::communication_bucket, "made by c10d"};
    return {};
  }

  // A leaf that no model made is what the graph was given: it is for whatever holds it.
  Finding saved(uint32_t tensor) const {
    const Graph& graph = dump_.graph;
    for (const HeldSlot& held : links_.slots(tensor)) {
      if (links_.accumulates(held.node)) continue;
      const std::string slot = graph.class_name(held.node) + "." + graph.slot_name(held.node, graph.saved[held.slot]);
      if (!given(tensor, held)) return {Category::saved_activation, "saved by " + slot};
      if (const Reference* reference = in_container(tensor)) {
        return {Category::container, "held by " + reference->line()};
      }
      return {Category::input_batch, "no model made it, and " + slot + " saved it"};
    }
    for (const Reference& reference : dump_.references.of(tensor)) {
      if (ReferenceRoot(reference.root) == ReferenceRoot::node) {
        return {Category::saved_activation, "saved by " + reference.line()};
      }
    }
    return {};
  }

  bool given(uint32_t tensor, const HeldSlot& held) const {
    const Tensor& row = dump_.tensors[tensor];
    if (!set(row, TensorKnown::leaf, TensorFlag::leaf) || dump_.graph.saved[held.slot].output) return false;
    const uint32_t site = memory_site(tensor), seen = dump_.graph.nodes[held.node].seen;
    if (site == 0 || facts_.computed(site)) return false;
    return seen == kNone || dump_.sites[site].python != 0 || !native_.made_by_operation(site, dump_.nodes[seen].site);
  }

  // Where the memory was allocated: a view or an alias of a batch was made elsewhere than the batch.
  uint32_t memory_site(uint32_t tensor) const {
    const uint32_t storage = dump_.tensors[tensor].storage;
    if (storage == kNone) return dump_.tensors[tensor].site;
    const uint32_t allocation = dump_.storages[storage].allocation;
    return allocation == kNone ? dump_.tensors[dump_.storages[storage].tensors.front()].site
                               : dump_.allocations[allocation].site;
  }

  // What Python's objects say, names and returned outputs apart: those hold nothing.
  std::vector<const Reference*> held_in_python(uint32_t tensor) const {
    std::vector<const Reference*> held;
    for (const Reference& reference : dump_.references.of(tensor)) {
      const ReferenceRoot root = ReferenceRoot(reference.root);
      if (root != ReferenceRoot::user && root != ReferenceRoot::output) held.push_back(&reference);
    }
    return held;
  }

  static bool by_program(const Reference& reference) {
    return category::by_program(ReferenceRoot(reference.root), reference.scope);
  }

  // What is built anew by each call, like a tuple or an object of results, does not make its tensors more than results.
  const Reference* in_container(uint32_t tensor) const {
    const bool result = facts_.computed(memory_site(tensor));
    for (const Reference& reference : dump_.references.of(tensor)) {
      if (reference.holder.empty() || !by_program(reference) || category::in_function_cache(reference.text)) continue;
      if (of_running_torch(tensor, reference)) continue;
      if (!result || category::in_collection(reference.holder, reference.text)) return &reference;
    }
    return nullptr;
  }

  bool of_running_torch(uint32_t tensor, const Reference& reference) const {
    return ReferenceRoot(reference.root) == ReferenceRoot::local &&
           facts_.torch_function(dump_.tensors[tensor].site, reference.scope);
  }

  // Memory that torch works with just now.
  Finding in_torch(uint32_t tensor) const {
    const std::vector<const Reference*> held = held_in_python(tensor);
    const Tensor& row = dump_.tensors[tensor];
    if (held.empty()) {
      const uint32_t node = links_.made_in_backward_of(tensor);
      const bool freed = dump_.references.freed(tensor);
      if (node != kNone && (freed || only_cpp(tensor) || dump_.process.python_version.empty())) {
        return {Category::backward_temporary,
                "made in the backward of " + last_component(dump_.nodes[node].class_name) +
                    (freed ? ", freed before names were looked up" : ", held by C++ alone")};
      }
      if (freed || (row.flags & uint32_t(TensorFlag::freed_during_dump)) != 0) {
        return {Category::temporary, "freed while the dump was written"};
      }
      return {};
    }
    if (!std::all_of(held.begin(), held.end(),
                     [&](const Reference* each) { return of_running_torch(tensor, *each); })) {
      return {};
    }
    return {Category::temporary, "a local of torch's running " + held.front()->scope};
  }

  Finding held_by_program(uint32_t tensor) const {
    if (const Reference* reference = in_container(tensor)) {
      return {Category::container, "held by " + reference->line()};
    }
    const Reference *said = nullptr, *held = nullptr;
    for (const Reference& reference : dump_.references.of(tensor)) {
      if (ReferenceRoot(reference.root) == ReferenceRoot::output) {
        if (said == nullptr) said = &reference;
      } else if (held == nullptr && by_program(reference) && !category::in_function_cache(reference.text)) {
        held = &reference;
      }
    }
    if (held == nullptr) return {};
    if (said != nullptr || !outputs_[tensor].empty()) {
      return {Category::output,
              (said != nullptr ? said->text : outputs_[tensor].front()) + ", held by " + held->line()};
    }
    return {Category::variable, held->line()};
  }

  Finding cache(uint32_t tensor) const {
    for (const Reference& reference : dump_.references.of(tensor)) {
      const ReferenceRoot root = ReferenceRoot(reference.root);
      if (root == ReferenceRoot::class_) return {Category::cache, "an attribute of a class, " + reference.line()};
      if (root == ReferenceRoot::global && !by_program(reference)) {
        return {Category::cache, "held by torch itself, " + reference.line()};
      }
      if (category::in_function_cache(reference.text)) {
        return {Category::cache, "held by a functools cache, " + reference.line()};
      }
    }
    return cast_copy(tensor);
  }

  // Autocast keeps casts of leaves for the time of its region: no slot, no variable, and its grad_fn is the cast.
  Finding cast_copy(uint32_t tensor) const {
    const uint32_t node = links_.grad_fn(tensor);
    if (node == kNoNode || !only_cpp(tensor) || dump_.graph.class_name(node) != "ToCopyBackward0") return {};
    for (const GraphEdge& edge : dump_.graph.edges_of(node)) {
      if (edge.node != kNoNode && links_.accumulates(edge.node)) {
        return {Category::cache, "a cast of a leaf that C++ alone keeps: autocast's"};
      }
    }
    return {};
  }

  // What is left: in a graph's forward pass, and held by C++ alone.
  Finding temporary(uint32_t tensor) const {
    const uint32_t site = memory_site(tensor);
    if (!only_cpp(tensor) || !held_in_python(tensor).empty()) return {};
    if (facts_.in_optimizer(site)) return {Category::temporary, "made by torch.optim, held by C++ alone"};
    if (!facts_.computed(site)) return {};
    return {Category::temporary, "made in a call of a module, held by C++ alone"};
  }

  const Dump& dump_;
  const FrameFacts& facts_;
  const TensorLinks& links_;
  const NativeFacts& native_;
  const std::vector<std::vector<std::string>>& outputs_;
};

}  // namespace

std::vector<std::string> category_words() {
  std::vector<std::string> words;
  for (size_t i = 1; i <= kCategories; ++i) {
    std::string word = text(Category(i % kCategories));
    for (char& c : word) c = c == ' ' ? '-' : c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    words.push_back(std::move(word));
  }
  return words;
}

std::optional<Category> category_named(std::string_view name) {
  const auto plain = [](std::string_view text) {
    std::string result(text);
    for (char& c : result) c = c == '-' || c == '_' ? ' ' : c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    return result;
  };
  for (size_t i = 0; i < kCategories; i++) {
    if (plain(name) == plain(text(Category(i)))) return Category(i);
  }
  return std::nullopt;
}

std::vector<Finding> find_categories(const Dump& dump, const FrameFacts& facts, const TensorLinks& links,
                                     const NativeFacts& native, const std::vector<std::vector<std::string>>& outputs) {
  const Judge judge(dump, facts, links, native, outputs);
  std::vector<Finding> findings;
  findings.reserve(dump.tensors.size());
  for (uint32_t tensor = 0; tensor < dump.tensors.size(); tensor++) findings.push_back(judge.of(tensor));
  return findings;
}

}  // namespace tensorscope::model
