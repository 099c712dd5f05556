// SPDX-License-Identifier: Apache-2.0
// A tensor without a module is "in no module" only if the dump knows all of the program's modules.
#include "memory/no_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/analyzer/questions_fixture.h"

namespace tensorscope::analyzer {
namespace {

using format::Seen;
using testing::Asked;
using testing::DumpBuilder;
using testing::owned;
using ::testing::StrEq;

DumpBuilder with_row(Seen seen) {
  DumpBuilder builder;
  builder.coverage("module paths", seen, "");
  owned(builder, 4, 0);
  return builder;
}

TEST(NoModule, IsSaidAsFarAsModulesAreKnown) {
  EXPECT_THAT(no_module(Asked(with_row(Seen::yes)).dump), StrEq("(in no module)"));
  EXPECT_THAT(no_module(Asked(with_row(Seen::not_applicable)).dump), StrEq("(in no module)"));
  EXPECT_THAT(no_module(Asked(with_row(Seen::partly)).dump), StrEq("(in no known module)"));
  EXPECT_THAT(no_module(Asked(with_row(Seen::no)).dump), StrEq("(module not known)"));
}

TEST(NoModule, ADumpThatSaysNothingOfModulesKnowsNone) {
  EXPECT_THAT(no_module(Asked(DumpBuilder()).dump), StrEq("(module not known)"));
}

// The stack of a living tensor may have calls of a module that is gone.
TEST(NoModule, ACallOfAModuleWithoutANameIsOfOneThatIsNotKnown) {
  DumpBuilder builder = with_row(Seen::yes);
  builder.module_name(0x1000, "model", "Net");
  PythonFrameSpec call{"/torch/nn/modules/module.py", "Module._wrapped_call_impl", 10};
  call.module_object = 0x1000;
  owned(builder, 4, builder.site(0, builder.python({call})));
  EXPECT_THAT(no_module(Asked(builder).dump), StrEq("(in no module)"));
  call.module_object = 0x2000;
  owned(builder, 4, builder.site(0, builder.python({call})));
  EXPECT_THAT(no_module(Asked(builder).dump), StrEq("(in no known module)"));
}

TEST(NoModule, GroupsHaveTheWordsAndAreTheSameGroupInEveryDump) {
  Asked known(with_row(Seen::yes)), unknown(with_row(Seen::no));
  const Group left = group(known.view(), GroupBy::module).at(0), right = group(unknown.view(), GroupBy::module).at(0);
  EXPECT_EQ(left.label, "(in no module)");
  EXPECT_EQ(right.label, "(module not known)");
  EXPECT_EQ(left.key, right.key);
}

}  // namespace
}  // namespace tensorscope::analyzer
