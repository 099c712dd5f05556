// SPDX-License-Identifier: Apache-2.0
// Decides what a tensor is for (categories.h) from evidence that each program collects in its own way. Rests on what
// holds the tensor and on who made it, never on the function that happens to run.
//
// Where the evidence does not suffice for a rule that comes later, the verdict is `unknown`: the weaker rules after it
// would be guesses.
//
// Context: any. No allocation, no exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dump_generated.h"
#include "tensorscope/rules/category_evidence.h"
#include "tensorscope/rules/reference_text.h"
#include "tensorscope/rules/user_code.h"

namespace tensorscope::category {

// Evidence has:
//   Facts facts() const
//   size_t references() const; rules::Reference reference(size_t) const     of the tensor, shortest first
//   Answer made_natively(code::TorchPart) const  whether this part of libtorch made its memory itself, where no Python
//                                              stack tells; unknown: its native functions have no names
//   Answer made_by_slot_operation() const      its memory, by the operation that attached the node of its slot
//   bool runs_in_torch(std::string_view) const whether it was made in this function of PyTorch's Python package
//   Answer left_module_call() const            inferred from the graph
//   Answer cast_of_leaf() const                made by a cast of a leaf, as autocast makes them
// Those that return an Answer are called only if the answer decides.
template <typename Evidence>
class Judge {
 public:
  explicit Judge(const Evidence& evidence) : evidence_(evidence), facts_(evidence.facts()) {}

  Verdict verdict() const {
    using Rule = Verdict (Judge::*)() const;
    constexpr Rule kRules[] = {
        &Judge::parameter, &Judge::buffer,          &Judge::gradient, &Judge::optimizer_state,
        &Judge::within,    &Judge::input_batch,     &Judge::saved,    &Judge::communication_bucket,
        &Judge::in_torch,  &Judge::held_by_program, &Judge::cache,    &Judge::temporary};
    for (const Rule rule : kRules) {
      const Verdict found = (this->*rule)();
      if (found.why != Why::nothing) return found;
    }
    return {};
  }

 private:
  static constexpr Verdict undecidable(Category possible) {
    return {Category::unknown, Why::evidence_missing, kNoReference, kNoReference, possible};
  }

  template <typename Wanted>
  size_t find(Wanted wanted) const {
    const size_t count = evidence_.references();
    for (size_t i = 0; i < count; ++i) {
      if (wanted(evidence_.reference(i))) return i;
    }
    return kNoReference;
  }
  size_t with_role(format::ReferenceRole role) const {
    return find([role](const rules::Reference& row) { return row.role == role; });
  }
  bool native(code::TorchPart part) const { return evidence_.made_natively(part) == Answer::yes; }
  bool held_in_python() const {
    return find([](const rules::Reference& row) { return !rules::is_only_a_name(row.root); }) != kNoReference;
  }
  // Python and the graph were looked through, and nothing in them refers to the tensor.
  bool only_cpp() const {
    if (!facts_.python_complete || !facts_.graph_complete || evidence_.references() != 0 || facts_.freed) return false;
    return !facts_.object.known || facts_.object.state <= format::WrapperState::kept_by_cpp;
  }

  Verdict parameter() const {
    if (const size_t row = with_role(format::ReferenceRole::parameter); row != kNoReference) {
      return {Category::parameter, Why::parameter_of_module, row};
    }
    if (facts_.object.known) {
      if (facts_.object.optimized) return {Category::parameter, Why::in_param_groups};
      if (facts_.object.trained) return {Category::parameter, Why::torch_parameter};
      return {};
    }
    // Without Python's word: what is trained has a gradient, or was made by torch.nn itself.
    if (!facts_.leaf || !facts_.requires_grad || facts_.is_gradient) return {};
    if (facts_.has_gradient) return {Category::parameter, Why::leaf_with_gradient};
    if ((facts_.made & code::kModuleCode) == 0 && !native(code::kModuleCode)) return {};
    return {Category::parameter, Why::leaf_made_by_torch_nn};
  }

  Verdict buffer() const {
    if (const size_t row = with_role(format::ReferenceRole::buffer); row != kNoReference) {
      return {Category::buffer, Why::buffer_of_module, row};
    }
    return native(code::kModuleCode) ? Verdict{Category::buffer, Why::made_by_native_module} : Verdict{};
  }

  Verdict gradient() const { return facts_.is_gradient ? Verdict{Category::gradient, Why::gradient} : Verdict{}; }

  Verdict optimizer_state() const {
    if (const size_t row = with_role(format::ReferenceRole::optimizer_state); row != kNoReference) {
      return {Category::optimizer_state, Why::state_of_optimizer, row};
    }
    if (native(code::kOptimizer)) return {Category::optimizer_state, Why::made_by_native_optimizer};
    if (facts_.python_complete || (facts_.made & code::kOptimizer) == 0) return {};
    return {Category::optimizer_state, Why::made_by_optimizer};
  }

  // What a reference leads through, by the class of an object on the way.
  Verdict within() const {
    if (!facts_.object.known) return {};
    switch (facts_.object.within) {
      case format::ReferenceWithin::dataset:
        return {Category::dataset, Why::in_dataset};
      case format::ReferenceWithin::kv_cache:
        return {Category::kv_cache, Why::in_kv_cache};
      case format::ReferenceWithin::nothing:
        break;
    }
    return {};
  }

  Verdict input_batch() const {
    if ((facts_.made & code::kDataLoading) != 0) return {Category::input_batch, Why::made_by_data_loading};
    if ((facts_.made & code::kOtherProcess) != 0) return {Category::input_batch, Why::from_other_process};
    if (native(code::kDataLoading)) return {Category::input_batch, Why::made_by_native_data};
    return {};
  }

  // A leaf that no model made is what the graph was given: it is for whatever holds it.
  Verdict saved() const {
    if (facts_.in_slot) {
      const Answer given = was_given();
      if (given == Answer::no) return {Category::saved_activation, Why::saved_in_slot};
      if (given == Answer::unknown) return undecidable(Category::parameter);
      if (const size_t row = container(); row != kNoReference) return {Category::container, Why::in_container, row};
      return {Category::input_batch, Why::given_to_slot};
    }
    const size_t row = find([](const rules::Reference& each) { return each.root == format::ReferenceRoot::node; });
    if (row == kNoReference) return {};
    return {Category::saved_activation, Why::saved_by_python_node, row};
  }

  Answer was_given() const {
    if (!facts_.leaf || facts_.output_of_slot_node) return Answer::no;
    if (!facts_.memory_has_stack || (facts_.memory & code::kComputed) != 0) return Answer::no;
    if (evidence_.made_natively(code::kDataLoading) == Answer::unknown) return Answer::unknown;
    switch (evidence_.made_by_slot_operation()) {
      case Answer::yes:
        return Answer::no;
      case Answer::no:
        return Answer::yes;
      case Answer::unknown:
        break;
    }
    return Answer::unknown;
  }

  Verdict communication_bucket() const {
    if (held_in_python()) return {};
    if ((facts_.memory & code::kCommunication) != 0) {
      return {Category::communication_bucket, Why::made_by_communication};
    }
    switch (evidence_.made_natively(code::kCommunication)) {
      case Answer::yes:
        return {Category::communication_bucket, Why::made_by_native_communication};
      case Answer::unknown:
        return undecidable(Category::parameter);
      case Answer::no:
        break;
    }
    return {};
  }

  // What is built anew by each call, like a tuple or an object of results, does not make its tensors more than results.
  size_t container() const {
    const bool result = (facts_.memory & code::kComputed) != 0;
    return find([&](const rules::Reference& row) {
      if (row.holder.empty() || !by_program(row.root, row.scope) || in_function_cache(row.text)) return false;
      return !of_running_torch(row) && (!result || in_collection(row.holder, row.text));
    });
  }

  bool of_running_torch(const rules::Reference& row) const {
    return row.root == format::ReferenceRoot::local && evidence_.runs_in_torch(row.scope);
  }

  // Memory that torch works with just now.
  Verdict in_torch() const {
    if (!held_in_python()) {
      const bool alone = facts_.freed || only_cpp() || !facts_.python_program;
      if (facts_.made_in_backward && alone) {
        if (facts_.may_be_part) return undecidable(Category::parameter);
        return {Category::backward_temporary, Why::made_in_backward};
      }
      if (facts_.freed || facts_.freed_during_dump) return {Category::temporary, Why::freed_during_dump};
      return {};
    }
    const size_t other =
        find([&](const rules::Reference& row) { return !rules::is_only_a_name(row.root) && !of_running_torch(row); });
    if (other != kNoReference) return {};
    const size_t first = find([](const rules::Reference& row) { return !rules::is_only_a_name(row.root); });
    return {Category::temporary, Why::local_of_running_torch, first};
  }

  Verdict held_by_program() const {
    if (const size_t row = container(); row != kNoReference) return {Category::container, Why::in_container, row};
    const size_t held = find([](const rules::Reference& row) {
      return row.root != format::ReferenceRoot::output && by_program(row.root, row.scope) &&
             !in_function_cache(row.text);
    });
    if (held == kNoReference) return {};
    const size_t said = find([](const rules::Reference& row) { return row.root == format::ReferenceRoot::output; });
    const Answer left = said != kNoReference ? Answer::yes : evidence_.left_module_call();
    if (left == Answer::unknown) return undecidable(Category::output);
    if (left == Answer::yes) return {Category::output, Why::returned_by_module, held, said};
    return {Category::variable, Why::in_variable, held};
  }

  Verdict cache() const {
    const auto why = [](const rules::Reference& row) {
      if (row.root == format::ReferenceRoot::class_) return Why::in_class_attribute;
      if (row.root == format::ReferenceRoot::global && !by_program(row.root, row.scope)) return Why::held_by_torch;
      return in_function_cache(row.text) ? Why::in_function_cache : Why::nothing;
    };
    const size_t row = find([&](const rules::Reference& each) { return why(each) != Why::nothing; });
    if (row != kNoReference) return {Category::cache, why(evidence_.reference(row)), row};
    // Autocast keeps casts of leaves for the time of its region: no slot, no variable.
    if (!only_cpp()) return {};
    switch (evidence_.cast_of_leaf()) {
      case Answer::yes:
        return {Category::cache, Why::cast_of_leaf};
      case Answer::unknown:
        return undecidable(facts_.may_be_part ? Category::parameter : Category::cache);
      case Answer::no:
        break;
    }
    return {};
  }

  // What is left: in a graph's forward pass, and held by C++ alone.
  Verdict temporary() const {
    if (!only_cpp() || held_in_python() || (facts_.memory & (code::kOptimizer | code::kComputed)) == 0) return {};
    if (facts_.may_be_part) return undecidable(Category::parameter);
    const bool optimizer = (facts_.memory & code::kOptimizer) != 0;
    return {Category::temporary, optimizer ? Why::made_by_optimizer_cpp_only : Why::made_in_module_call};
  }

  const Evidence& evidence_;
  const Facts facts_;
};

template <typename Evidence>
Verdict judge(const Evidence& evidence) {
  return Judge<Evidence>(evidence).verdict();
}

}  // namespace tensorscope::category
