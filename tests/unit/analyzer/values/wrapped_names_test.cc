// SPDX-License-Identifier: Apache-2.0
#include "values/wrapped_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::values {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(WrappedNames, agree_with_and_without_wrappers) {
  const Partners partners = find_partners(
      {"model", "model.fc.weight.grad", "model.fc(in)['x']", "model.fc/aten::add"},
      {"model", "model.module.fc.weight.grad", "model._fsdp_wrapped_module.fc._checkpoint_wrapped_module(in)['x']",
       "model._orig_mod.fc/aten::add"});
  EXPECT_THAT(partners.of_b,
              UnorderedElementsAre(
                  Pair("model.module.fc.weight.grad", "model.fc.weight.grad"),
                  Pair("model._fsdp_wrapped_module.fc._checkpoint_wrapped_module(in)['x']", "model.fc(in)['x']"),
                  Pair("model._orig_mod.fc/aten::add", "model.fc/aten::add")));
  EXPECT_THAT(partners.wrapped, IsEmpty());
}

TEST(WrappedNames, agree_where_both_are_wrapped) {
  EXPECT_THAT(find_partners({"model.module.fc"}, {"model._orig_mod.fc"}).of_b,
              UnorderedElementsAre(Pair("model._orig_mod.fc", "model.module.fc")));
}

TEST(WrappedNames, a_module_of_the_program_may_have_the_name) {
  const Partners partners =
      find_partners({"m.a", "m.a.module", "m.b"}, {"m.module.a", "m.module.a.module", "m.module.b"});
  EXPECT_THAT(partners.of_b, UnorderedElementsAre(Pair("m.module.a", "m.a"), Pair("m.module.a.module", "m.a.module"),
                                                  Pair("m.module.b", "m.b")));
  // What only one run has is not taken for what is around it.
  const Partners without = find_partners({"m.a", "m.a.module"}, {"m.a"});
  EXPECT_THAT(without.of_b, IsEmpty());
  EXPECT_THAT(without.wrapped, IsEmpty());
}

TEST(WrappedNames, what_a_wrapper_wraps_is_compared_once) {
  EXPECT_THAT(
      find_partners({"m", "m.a"}, {"m", "m.module", "m.module.a", "m.module.a._checkpoint_wrapped_module"}).wrapped,
      UnorderedElementsAre("m.module", "m.module.a._checkpoint_wrapped_module"));
}

TEST(WrappedNames, what_a_wrapper_wraps_is_no_module_of_the_program) {
  const Partners partners = find_partners({"m.0", "m.0.module"}, {"m.0", "m.0._orig_mod"});
  EXPECT_THAT(partners.of_b, IsEmpty());
  EXPECT_THAT(partners.wrapped, UnorderedElementsAre("m.0._orig_mod"));
}

TEST(WrappedNames, two_that_could_be_meant_are_none) {
  EXPECT_THAT(find_partners({"m.fc"}, {"m._orig_mod.fc", "m.module.fc"}).of_b, IsEmpty());
}

}  // namespace
}  // namespace tensorscope::values
