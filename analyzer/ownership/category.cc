// SPDX-License-Identifier: Apache-2.0
#include "ownership/category.h"

#include <span>

#include "dump/type_names.h"
#include "dump_generated.h"
#include "tensorscope/rules/category_judge.h"

namespace tensorscope::analyzer {

namespace {

using format::TensorFlag;
using format::TensorKnown;
using format::WrapperState;

bool set(const Tensor& tensor, TensorKnown known, TensorFlag flag) {
  return (tensor.known & uint32_t(known)) != 0 && (tensor.flags & uint32_t(flag)) != 0;
}

// "model.fc1.weight" -> "model.fc1"
std::string owner_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "a module" : path.substr(0, dot);
}

using category::Answer;
using category::Verdict;
using category::Why;

Answer answer(bool yes) { return yes ? Answer::yes : Answer::no; }

// What a whole dump says about one tensor (tensorscope/rules/category_judge.h).
class Evidence {
 public:
  Evidence(const Dump& dump, const FrameFacts& frames, const TensorLinks& links, const NativeFacts& native,
           const ModuleOutputs& outputs, uint32_t tensor)
      : dump_(dump),
        frames_(frames),
        links_(links),
        native_(native),
        outputs_(outputs),
        tensor_(tensor),
        rows_(dump.references.of(tensor)),
        memory_site_(memory_site()) {
    for (const HeldSlot& held : links.slots(tensor)) {
      if (links.accumulates(held.node)) continue;
      slot_ = held;
      break;
    }
  }

  category::Facts facts() const {
    const Tensor& row = dump_.tensors[tensor_];
    category::Facts facts;
    facts.python_complete = dump_.references.complete;
    facts.graph_complete = dump_.graph.whole();
    facts.python_program = !dump_.process.python_version.empty();
    facts.freed = dump_.references.freed(tensor_);
    facts.freed_during_dump = (row.flags & uint32_t(TensorFlag::freed_during_dump)) != 0;
    facts.leaf = set(row, TensorKnown::leaf, TensorFlag::leaf);
    facts.requires_grad = set(row, TensorKnown::requires_grad, TensorFlag::requires_grad);
    facts.has_gradient = row.grad != 0;
    facts.is_gradient = links_.gradient_of(tensor_) != kNone;
    facts.made_in_backward = links_.made_in_backward_of(tensor_) != kNone;
    facts.in_slot = slot_.node != kNoNode;
    facts.output_of_slot_node = facts.in_slot && dump_.graph.saved[slot_.slot].output;
    facts.memory_has_stack = memory_site_ != 0;
    facts.made = frames_.parts(row.site);
    facts.memory = frames_.parts(memory_site_);
    if (const TensorObject* known = object()) {
      facts.object = {true, WrapperState(known->state), known->optimized, known->trained,
                      format::ReferenceWithin(known->within)};
    }
    return facts;
  }

  size_t references() const { return rows_.size(); }
  rules::Reference reference(size_t i) const { return rows_[i].view(); }

  Answer made_natively(code::TorchPart part) const { return answer((native_.parts(memory_site_) & part) != 0); }
  Answer made_by_slot_operation() const {
    const uint32_t seen = dump_.graph.nodes[slot_.node].seen;
    const bool asked = seen != kNone && dump_.sites[memory_site_].python == 0;
    return answer(asked && native_.made_by_operation(memory_site_, dump_.nodes[seen].site));
  }
  bool runs_in_torch(std::string_view function) const {
    return frames_.torch_function(dump_.tensors[tensor_].site, function);
  }
  Answer left_module_call() const { return answer(outputs_.returned_from_call(tensor_)); }
  Answer cast_of_leaf() const {
    const uint32_t node = links_.grad_fn(tensor_);
    if (node == kNoNode || dump_.graph.class_name(node) != "ToCopyBackward0") return Answer::no;
    for (const GraphEdge& edge : dump_.graph.edges_of(node)) {
      if (edge.node != kNoNode && links_.accumulates(edge.node)) return Answer::yes;
    }
    return Answer::no;
  }

  std::string words(const Verdict& verdict) const {
    const auto row = [&]() -> const Reference& { return rows_[verdict.reference]; };
    switch (verdict.why) {
      case Why::nothing:
      case Why::evidence_missing:
        return "";
      case Why::parameter_of_module:
        return "in " + owner_of(row().text) + "'s parameters";
      case Why::in_param_groups:
        return "in the param_groups of an optimizer";
      case Why::torch_parameter:
        return "a torch.nn.Parameter";
      case Why::leaf_with_gradient:
        return "a leaf that has a gradient";
      case Why::leaf_made_by_torch_nn:
        return "a leaf that torch.nn made";
      case Why::buffer_of_module:
        return "in " + owner_of(row().text) + "'s buffers";
      case Why::made_by_native_module:
        return "made by torch::nn, and trained by nothing";
      case Why::gradient:
        return "the .grad of " + gradient_owner();
      case Why::state_of_optimizer:
        return "in an optimizer's state, " + row().text;
      case Why::made_by_native_optimizer:
        return "made by torch::optim";
      case Why::made_by_optimizer:
        return "made by torch.optim";
      case Why::in_dataset:
        return "in a torch.utils.data.Dataset, " + object()->within_text;
      case Why::in_kv_cache:
        return "in a cache of transformers, " + object()->within_text;
      case Why::made_by_data_loading:
        return "made by torch.utils.data";
      case Why::from_other_process:
        return "came from another process, by torch.multiprocessing";
      case Why::made_by_native_data:
        return "made by torch::data";
      case Why::saved_in_slot:
        return "saved by " + slot_name();
      case Why::given_to_slot:
        return "no model made it, and " + slot_name() + " saved it";
      case Why::saved_by_python_node:
        return "saved by " + row().line();
      case Why::in_container:
        return "held by " + row().line();
      case Why::made_by_communication:
        return "made by torch.distributed";
      case Why::made_by_native_communication:
        return "made by c10d";
      case Why::made_in_backward:
        return "made in the backward of " +
               last_component(dump_.nodes[links_.made_in_backward_of(tensor_)].class_name) +
               (dump_.references.freed(tensor_) ? ", freed before names were looked up" : ", held by C++ alone");
      case Why::freed_during_dump:
        return "freed while the dump was written";
      case Why::local_of_running_torch:
        return "a local of torch's running " + row().scope;
      case Why::returned_by_module:
        return (verdict.output != category::kNoReference ? rows_[verdict.output].text
                                                         : outputs_.names(tensor_).front()) +
               ", held by " + row().line();
      case Why::in_variable:
        return row().line();
      case Why::in_class_attribute:
        return "an attribute of a class, " + row().line();
      case Why::held_by_torch:
        return "held by torch itself, " + row().line();
      case Why::in_function_cache:
        return "held by a functools cache, " + row().line();
      case Why::cast_of_leaf:
        return "a cast of a leaf that C++ alone keeps: autocast's";
      case Why::made_by_optimizer_cpp_only:
        return "made by torch.optim, held by C++ alone";
      case Why::made_in_module_call:
        return "made in a call of a module, held by C++ alone";
    }
    return "";
  }

 private:
  const TensorObject* object() const {
    const References& references = dump_.references;
    return references.present && references.tensors[tensor_].known ? &references.tensors[tensor_] : nullptr;
  }
  std::string gradient_owner() const {
    const uint32_t owner = links_.gradient_of(tensor_);
    for (const Reference& row : dump_.references.of(owner)) {
      if (format::ReferenceRole(row.role) == format::ReferenceRole::parameter) return row.text;
    }
    return "#" + std::to_string(dump_.tensors[owner].serial);
  }
  std::string slot_name() const {
    return dump_.graph.class_name(slot_.node) + "." + dump_.graph.slot_name(slot_.node, dump_.graph.saved[slot_.slot]);
  }
  // Where the memory was allocated: a view or an alias of a batch was made elsewhere than the batch.
  uint32_t memory_site() const {
    const uint32_t storage = dump_.tensors[tensor_].storage;
    if (storage == kNone) return dump_.tensors[tensor_].site;
    const uint32_t allocation = dump_.storages[storage].allocation;
    return allocation == kNone ? dump_.tensors[dump_.storages[storage].tensors.front()].site
                               : dump_.allocations[allocation].site;
  }

  const Dump& dump_;
  const FrameFacts& frames_;
  const TensorLinks& links_;
  const NativeFacts& native_;
  const ModuleOutputs& outputs_;
  const uint32_t tensor_;
  const std::span<const Reference> rows_;
  const uint32_t memory_site_;
  HeldSlot slot_;  // the first that is no accumulator's
};

}  // namespace

const char* text(CategorySource source) {
  switch (source) {
    case CategorySource::dump:
      return "dump";
    case CategorySource::inferred:
      return "inferred";
    case CategorySource::unknown:
      break;
  }
  return "";
}

std::vector<std::string> category_names() {
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

Verdict CategoryFinder::verdict(uint32_t tensor) const {
  return category::judge(Evidence(dump_, frames_, links_, native_, outputs_, tensor));
}

std::string CategoryFinder::words(uint32_t tensor, const Verdict& verdict) const {
  return Evidence(dump_, frames_, links_, native_, outputs_, tensor).words(verdict);
}

}  // namespace tensorscope::analyzer
