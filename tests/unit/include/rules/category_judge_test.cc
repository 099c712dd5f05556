// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/category_judge.h"

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <tuple>
#include <vector>

namespace tensorscope::category {
namespace {

using format::ReferenceRole;
using format::ReferenceRoot;
using format::ReferenceWithin;
using format::WrapperState;

constexpr auto kPlain = ReferenceRole::plain;

// Facts as they stand here; what costs to find out is noted when it is asked for.
struct Evidence {
  Facts told;
  std::vector<rules::Reference> rows;
  uint8_t native = 0;  // code::TorchPart
  bool native_unknown = false;
  Answer by_operation = Answer::no, left_call = Answer::no, cast = Answer::no;
  std::string torch_function;

  Facts facts() const { return told; }
  size_t references() const { return rows.size(); }
  rules::Reference reference(size_t i) const { return rows[i]; }
  Answer made_natively(code::TorchPart part) const {
    if (native_unknown) return Answer::unknown;
    return (native & part) != 0 ? Answer::yes : Answer::no;
  }
  Answer made_by_slot_operation() const { return by_operation; }
  bool runs_in_torch(std::string_view function) const { return function == torch_function; }
  Answer left_module_call() const { return left_call; }
  Answer cast_of_leaf() const { return cast; }
};

Evidence looked_through() {
  Evidence evidence;
  evidence.told.python_complete = true;
  evidence.told.memory_has_stack = true;
  return evidence;
}

template <typename Change>
Evidence with(Change change) {
  Evidence evidence = looked_through();
  change(evidence);
  return evidence;
}

template <typename Change>
Evidence without_python(Change change) {
  Evidence evidence = looked_through();
  evidence.told.python_complete = false;
  change(evidence);
  return evidence;
}

Evidence referred(rules::Reference row) {
  return with([&](Evidence& it) { it.rows = {row}; });
}

rules::Reference global(std::string_view text, std::string_view holder = "", std::string_view scope = "train.py") {
  return {ReferenceRoot::global, kPlain, text, scope, holder};
}

Evidence saved_leaf() {
  return with([](Evidence& it) { it.told.in_slot = it.told.leaf = true; });
}

void trained(Evidence& it) { it.told.leaf = it.told.requires_grad = true; }

TEST(CategoryJudge, EachRule) {
  const struct {
    Evidence evidence;
    Category category;
    Why why;
  } rows[] = {
      {looked_through(), Category::unknown, Why::nothing},
      {referred({ReferenceRoot::global, ReferenceRole::parameter, "model.w", "", ""}), Category::parameter,
       Why::parameter_of_module},
      {with([](auto& it) {
         it.told.object = {true, WrapperState::referenced, true, false};
       }),
       Category::parameter, Why::in_param_groups},
      {with([](auto& it) {
         it.told.object = {true, WrapperState::referenced, false, true};
       }),
       Category::parameter, Why::torch_parameter},
      {with([](auto& it) { trained(it), it.told.has_gradient = true; }), Category::parameter, Why::leaf_with_gradient},
      {with([](auto& it) { trained(it), it.told.made = code::kModuleCode; }), Category::parameter,
       Why::leaf_made_by_torch_nn},
      {with([](auto& it) { trained(it), it.native = code::kModuleCode; }), Category::parameter,
       Why::leaf_made_by_torch_nn},
      // Python's word is better than a gradient.
      {with([](auto& it) { trained(it), it.told.has_gradient = true, it.told.object.known = true; }), Category::unknown,
       Why::nothing},
      {referred({ReferenceRoot::global, ReferenceRole::buffer, "model.mean", "", ""}), Category::buffer,
       Why::buffer_of_module},
      {with([](auto& it) { it.native = code::kModuleCode; }), Category::buffer, Why::made_by_native_module},
      {with([](auto& it) { it.told.is_gradient = true; }), Category::gradient, Why::gradient},
      {referred({ReferenceRoot::global, ReferenceRole::optimizer_state, "Adam.state[0]", "", ""}),
       Category::optimizer_state, Why::state_of_optimizer},
      {with([](auto& it) { it.native = code::kOptimizer; }), Category::optimizer_state, Why::made_by_native_optimizer},
      {without_python([](auto& it) { it.told.made = code::kOptimizer; }), Category::optimizer_state,
       Why::made_by_optimizer},
      {with([](auto& it) {
         it.told.object = {true, {}, false, false, ReferenceWithin::dataset};
       }),
       Category::dataset, Why::in_dataset},
      {with([](auto& it) {
         it.told.object = {true, {}, false, false, ReferenceWithin::kv_cache};
       }),
       Category::kv_cache, Why::in_kv_cache},
      {with([](auto& it) { it.told.made = code::kDataLoading; }), Category::input_batch, Why::made_by_data_loading},
      {with([](auto& it) { it.told.made = code::kOtherProcess; }), Category::input_batch, Why::from_other_process},
      {with([](auto& it) { it.native = code::kDataLoading; }), Category::input_batch, Why::made_by_native_data},
      {with([](auto& it) { it.told.in_slot = true; }), Category::saved_activation, Why::saved_in_slot},
      {referred({ReferenceRoot::node, kPlain, "ctx.x", "Scale", ""}), Category::saved_activation,
       Why::saved_by_python_node},
      {with([](auto& it) { it.told.memory = code::kCommunication; }), Category::communication_bucket,
       Why::made_by_communication},
      {with([](auto& it) { it.native = code::kCommunication; }), Category::communication_bucket,
       Why::made_by_native_communication},
      {with([](auto& it) { it.told.made_in_backward = true; }), Category::backward_temporary, Why::made_in_backward},
      {with([](auto& it) { it.told.freed = true; }), Category::temporary, Why::freed_during_dump},
      {with([](auto& it) { it.told.freed_during_dump = true; }), Category::temporary, Why::freed_during_dump},
      {with([](auto& it) {
         it.torch_function = "normalize";
         it.rows = {{ReferenceRoot::local, kPlain, "denom", "normalize", ""}};
       }),
       Category::temporary, Why::local_of_running_torch},
      {referred(global("history[2]", "list")), Category::container, Why::in_container},
      {referred(global("total")), Category::variable, Why::in_variable},
      {with([](auto& it) { it.rows = {global("y")}, it.left_call = Answer::yes; }), Category::output,
       Why::returned_by_module},
      {referred({ReferenceRoot::class_, kPlain, "Rope.table", "rope", "dict"}), Category::cache,
       Why::in_class_attribute},
      {referred(global("_cache", "dict", "torch.nn.functional")), Category::cache, Why::held_by_torch},
      {referred(global("lru_cache of masks[8]", "functools._lru_cache_wrapper")), Category::cache,
       Why::in_function_cache},
      {with([](auto& it) { it.cast = Answer::yes; }), Category::cache, Why::cast_of_leaf},
      {with([](auto& it) { it.told.memory = code::kOptimizer; }), Category::temporary, Why::made_by_optimizer_cpp_only},
      {with([](auto& it) { it.told.memory = code::kModuleCall; }), Category::temporary, Why::made_in_module_call},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    const Verdict verdict = judge(rows[i].evidence);
    EXPECT_EQ(text(verdict.category), std::string(text(rows[i].category))) << i;
    EXPECT_EQ(verdict.why, rows[i].why) << i;
  }
}

TEST(CategoryJudge, WhatAGraphWasGiven) {
  Evidence batch = saved_leaf();
  EXPECT_EQ(judge(batch).why, Why::given_to_slot);
  batch.rows = {global("batches[0]", "list")};
  EXPECT_EQ(judge(batch).why, Why::in_container);
  for (auto change : {+[](Evidence& it) { it.told.leaf = false; },                //
                      +[](Evidence& it) { it.told.output_of_slot_node = true; },  //
                      +[](Evidence& it) { it.told.memory_has_stack = false; },    //
                      +[](Evidence& it) { it.told.memory = code::kModuleCall; },  //
                      +[](Evidence& it) { it.by_operation = Answer::yes; }}) {
    Evidence made = saved_leaf();
    change(made);
    EXPECT_EQ(judge(made).why, Why::saved_in_slot);
  }
}

TEST(CategoryJudge, AResultIsInAContainerOnlyWhereItWasPutThere) {
  for (const auto& [text, holder, expected] :
       {std::tuple{"out.logits", "Output", Category::output},
        std::tuple{"outs[3].logits", "Output", Category::container}, std::tuple{"outs[3]", "list", Category::container},
        std::tuple{"pair[0]", "tuple", Category::output}}) {
    Evidence result = referred(global(text, holder));
    result.told.memory = code::kModuleCall;
    result.left_call = Answer::yes;
    EXPECT_EQ(judge(result).category, expected) << text;
  }
}

TEST(CategoryJudge, AReturnedTensorNamesBothReferences) {
  Evidence said = looked_through();
  said.rows = {{ReferenceRoot::output, kPlain, "model.out[0]", "", ""}, global("y")};
  said.left_call = Answer::unknown;  // the call's own word is enough
  const Verdict verdict = judge(said);
  EXPECT_EQ(verdict.category, Category::output);
  EXPECT_EQ(verdict.reference, 1u);
  EXPECT_EQ(verdict.output, 0u);
}

// Where a rule cannot be decided, the weaker ones after it are not asked.
TEST(CategoryJudge, MissingEvidenceIsNoAnswer) {
  const Evidence rows[] = {
      with([](auto& it) { it.told.in_slot = it.told.leaf = it.native_unknown = true; }),
      with([](auto& it) { it.told.in_slot = it.told.leaf = true, it.by_operation = Answer::unknown; }),
      with([](auto& it) { it.native_unknown = it.told.made_in_backward = true; }),
      with([](auto& it) { it.rows = {global("y")}, it.left_call = Answer::unknown; }),
      with([](auto& it) { it.cast = Answer::unknown, it.told.memory = code::kModuleCall; }),
      with([](auto& it) { it.told.made_in_backward = it.told.may_be_part = true; }),
      with([](auto& it) { it.told.memory = code::kModuleCall, it.told.may_be_part = true; }),
  };
  for (const Evidence& evidence : rows) {
    EXPECT_EQ(judge(evidence).category, Category::unknown) << &evidence - rows;
    EXPECT_EQ(judge(evidence).why, Why::evidence_missing) << &evidence - rows;
    EXPECT_NE(judge(evidence).possible, Category::unknown) << &evidence - rows;
  }
  // Links need no stack.
  EXPECT_EQ(judge(with([](auto& it) { it.native_unknown = it.told.is_gradient = true; })).why, Why::gradient);
}

TEST(CategoryJudge, WhatPythonHoldsIsNotHeldByCppAlone) {
  for (auto change :
       {+[](Evidence& it) { it.told.python_complete = false; }, +[](Evidence& it) { it.told.graph_complete = false; },
        +[](Evidence& it) {
          it.told.object = {true, WrapperState::referenced};
        },
        +[](Evidence& it) {
          it.rows = {{ReferenceRoot::extension, kPlain, "", "Reader", ""}};
        }}) {
    Evidence held = looked_through();
    held.told.made_in_backward = true;
    held.told.memory = code::kModuleCall;
    change(held);
    EXPECT_EQ(judge(held).category, Category::unknown);
  }
}

}  // namespace
}  // namespace tensorscope::category
