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
  Judge(const Dump& dump, const FrameFacts& facts, const TensorLinks& links,
        const std::vector<std::vector<std::string>>& outputs)
      : dump_(dump), facts_(facts), links_(links), outputs_(outputs) {}

  Finding of(uint32_t tensor) const {
    for (auto rule : {&Judge::parameter, &Judge::buffer, &Judge::gradient, &Judge::optimizer_state, &Judge::input_batch,
                      &Judge::saved_activation, &Judge::output, &Judge::cache, &Judge::temporary}) {
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
    if (facts_.in_module_code(row.site)) return {Category::parameter, "a leaf that torch.nn made"};
    return {};
  }

  Finding buffer(uint32_t tensor) const {
    const Reference* reference = with_role(tensor, ReferenceRole::buffer);
    if (reference == nullptr) return {};
    return {Category::buffer, "in " + owner_of(reference->text) + "'s buffers"};
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
    if (dump_.references.complete || !facts_.in_optimizer(dump_.tensors[tensor].site)) return {};
    return {Category::optimizer_state, "made by torch.optim"};
  }

  Finding input_batch(uint32_t tensor) const {
    const uint32_t site = dump_.tensors[tensor].site;
    if (facts_.in_data_loading(site)) return {Category::input_batch, "made by torch.utils.data"};
    if (facts_.from_other_process(site)) {
      return {Category::input_batch, "came from another process, by torch.multiprocessing"};
    }
    return {};
  }

  Finding saved_activation(uint32_t tensor) const {
    const Graph& graph = dump_.graph;
    for (const HeldSlot& held : links_.slots(tensor)) {
      if (links_.accumulates(held.node)) continue;
      return {Category::saved_activation,
              "saved by " + graph.class_name(held.node) + "." + graph.slot_name(held.node, graph.saved[held.slot])};
    }
    for (const Reference& reference : dump_.references.of(tensor)) {
      if (ReferenceRoot(reference.root) == ReferenceRoot::node) {
        return {Category::saved_activation, "saved by " + reference.line()};
      }
    }
    return {};
  }

  Finding output(uint32_t tensor) const {
    const Reference *said = nullptr, *held = nullptr;
    for (const Reference& reference : dump_.references.of(tensor)) {
      const ReferenceRoot root = ReferenceRoot(reference.root);
      if (root == ReferenceRoot::output) {
        if (said == nullptr) said = &reference;
      } else if (root != ReferenceRoot::user && held == nullptr) {
        held = &reference;
      }
    }
    if (held == nullptr || (said == nullptr && outputs_[tensor].empty())) return {};
    return {Category::output, (said != nullptr ? said->text : outputs_[tensor].front()) + ", held by " + held->line()};
  }

  Finding cache(uint32_t tensor) const {
    for (const Reference& reference : dump_.references.of(tensor)) {
      const ReferenceRoot root = ReferenceRoot(reference.root);
      if (root == ReferenceRoot::class_) return {Category::cache, "an attribute of a class, " + reference.line()};
      if (root == ReferenceRoot::global && (reference.scope == "torch" || reference.scope.starts_with("torch."))) {
        return {Category::cache, "held by torch itself, " + reference.line()};
      }
      if (reference.text.starts_with("lru_cache of ")) {
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

  Finding temporary(uint32_t tensor) const {
    const auto references = dump_.references.of(tensor);
    if (!references.empty()) {
      for (const Reference& reference : references) {
        if (ReferenceRoot(reference.root) != ReferenceRoot::local ||
            !facts_.torch_function(dump_.tensors[tensor].site, reference.scope)) {
          return {};
        }
      }
      return {Category::temporary, "a local of torch's running " + references.front().scope};
    }
    const uint32_t node = links_.made_in_backward_of(tensor);
    const bool freed = dump_.references.freed(tensor);
    if (node == kNone || !(freed || only_cpp(tensor))) return {};
    return {Category::temporary, "made in the backward of " + last_component(dump_.nodes[node].class_name) +
                                     (freed ? ", freed before names were looked up" : ", held by C++ alone")};
  }

  const Dump& dump_;
  const FrameFacts& facts_;
  const TensorLinks& links_;
  const std::vector<std::vector<std::string>>& outputs_;
};

}  // namespace

const char* text(Category category) {
  switch (category) {
    case Category::unknown:
      return "unknown";
    case Category::parameter:
      return "parameter";
    case Category::buffer:
      return "buffer";
    case Category::gradient:
      return "gradient";
    case Category::optimizer_state:
      return "optimizer state";
    case Category::input_batch:
      return "input batch";
    case Category::saved_activation:
      return "saved activation";
    case Category::output:
      return "output";
    case Category::cache:
      return "cache";
    case Category::temporary:
      return "temporary";
    case Category::workspace:
      return "workspace";
  }
  return "";
}

std::vector<std::string> category_words() {
  std::vector<std::string> words;
  for (size_t i = 1; i <= kCategories; ++i) {
    std::string word = text(Category(i % kCategories));
    std::replace(word.begin(), word.end(), ' ', '-');
    words.push_back(std::move(word));
  }
  return words;
}

std::optional<Category> category_named(std::string_view name) {
  std::string wanted(name);
  for (char& c : wanted) c = c == '-' || c == '_' ? ' ' : c;
  for (size_t i = 0; i < kCategories; i++) {
    if (wanted == text(Category(i))) return Category(i);
  }
  return std::nullopt;
}

std::vector<Finding> find_categories(const Dump& dump, const FrameFacts& facts, const TensorLinks& links,
                                     const std::vector<std::vector<std::string>>& outputs) {
  const Judge judge(dump, facts, links, outputs);
  std::vector<Finding> findings;
  findings.reserve(dump.tensors.size());
  for (uint32_t tensor = 0; tensor < dump.tensors.size(); tensor++) findings.push_back(judge.of(tensor));
  return findings;
}

}  // namespace tensorscope::model
