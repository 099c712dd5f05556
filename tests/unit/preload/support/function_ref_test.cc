// SPDX-License-Identifier: Apache-2.0
#include "support/function_ref.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace tensorscope {
namespace {

int apply(FunctionRef<int(int)> function, int value) { return function(value); }
int doubled(int value) { return 2 * value; }

static_assert(sizeof(FunctionRef<int(int)>) == 2 * sizeof(void*));
static_assert(std::is_trivially_copyable_v<FunctionRef<int(int)>>, "two registers, and no cleanup beside a real call");
static_assert(!std::is_constructible_v<FunctionRef<void(int)>, void (*)(std::string)>, "checked where it is passed");
static_assert(!std::is_default_constructible_v<FunctionRef<void()>>, "it always refers to something");

TEST(FunctionRef, CallsAFunctionAndWhateverIsCalledLikeOne) {
  EXPECT_EQ(apply(doubled, 3), 6);
  EXPECT_EQ(apply(&doubled, 3), 6);
  int (*const pointer)(int) = doubled;
  EXPECT_EQ(apply(pointer, 3), 6);
  EXPECT_EQ(apply([](int value) { return value + 1; }, 3), 4);
  const int more = 10;
  EXPECT_EQ(apply([&](int value) { return value + more; }, 3), 13);
  const auto kept = [more](int value) { return value - more; };
  EXPECT_EQ(apply(kept, 3), -7);
}

TEST(FunctionRef, ChangesTheCallersObjectAndNotACopyOfIt) {
  auto counter = [calls = 0](int) mutable { return ++calls; };
  apply(counter, 0);
  FunctionRef<int(int)> first(counter);
  const FunctionRef<int(int)> second = first;  // refers to the counter, not to `first`
  first = doubled;
  EXPECT_EQ(second(0), 2);
  EXPECT_EQ(counter(0), 3);
}

TEST(FunctionRef, TakesArgumentsAsTheyAreAndLeavesAResultThatNobodyWants) {
  const auto take = [](std::unique_ptr<int> value, int& out) { return out = *value; };
  int out = 0;
  const FunctionRef<void(std::unique_ptr<int>, int&)> function(take);
  function(std::make_unique<int>(5), out);
  EXPECT_EQ(out, 5);
}

TEST(FunctionRef, TheCalledOneMayCallItAgain) {
  const auto count_down = [](auto& self, int value) -> int {
    return value == 0 ? 0 : 1 + apply([&](int next) { return self(self, next); }, value - 1);
  };
  EXPECT_EQ(apply([&](int value) { return count_down(count_down, value); }, 5), 5);
}

}  // namespace
}  // namespace tensorscope
