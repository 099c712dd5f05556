// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/headline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tensorscope::rules {
namespace {

using code::Owner;

struct PythonStack {
  std::vector<Owner> owners;  // innermost first
  std::vector<const char*> names;
  // Frames are numbered from the outermost, 1.
  uint32_t leaf() const { return uint32_t(std::max(owners.size(), names.size())); }
  static uint32_t parent(uint32_t id) { return id - 1; }
  size_t at(uint32_t id) const { return leaf() - id; }
};

TEST(Headline, PythonStacks) {
  const struct {
    std::vector<Owner> owners;
    size_t expected;
  } rows[] = {
      {{Owner::user}, 0},
      {{Owner::torch, Owner::torch, Owner::user, Owner::user}, 2},
      {{Owner::torch, Owner::library, Owner::user}, 2},
      {{Owner::torch, Owner::library, Owner::library, Owner::system}, 1},
      {{Owner::system, Owner::torch}, 0},
  };
  for (const auto& row : rows) {
    const PythonStack stack{row.owners, {}};
    const uint32_t id =
        python_headline(stack.leaf(), PythonStack::parent, [&](uint32_t id) { return stack.owners[stack.at(id)]; });
    EXPECT_EQ(stack.at(id), row.expected);
  }
}

TEST(Headline, AComprehensionIsInTheFunctionAroundIt) {
  const struct {
    std::vector<const char*> names;
    bool qualified;
    const char* expected;
  } rows[] = {
      {{"step", "main"}, true, "step"},
      {{"load.<locals>.<listcomp>", "load"}, true, "load"},
      {{"<listcomp>", "<module>"}, true, "<module>"},
      {{"<listcomp>", "load"}, false, "load"},
      {{"<listcomp>", "<dictcomp>", "load"}, false, "load"},
      {{"<listcomp>"}, false, ""},
      {{"<genexpr>", "sum"}, false, ""},  // who runs a generator is not who wrote it
  };
  for (const auto& row : rows) {
    const PythonStack stack{{}, row.names};
    EXPECT_EQ(function_around(stack.leaf(), row.qualified, PythonStack::parent,
                              [&](uint32_t id) { return std::string_view(stack.names[stack.at(id)]); }),
              row.expected);
  }
}

TEST(Headline, NativeStacks) {
  struct Frame {
    const char *object, *function;
  };
  const struct {
    std::vector<Frame> frames;
    size_t expected;
  } rows[] = {
      {{}, 0},
      {{{"libtorch_cpu.so", "at::empty"}, {"train", "Net::forward"}, {"train", "main"}}, 1},
      {{{"libtorch_cpu.so", "at::empty"}, {"libmine.so", "f"}, {"libother.so", "g"}, {"libc.so.6", "clone3"}}, 1},
      {{{"libmine.so", "f"}, {"train", "main"}}, 1},
      {{{"libc10.so", "c10::alloc_cpu"}, {"libtorch_cpu.so", "at::native::add"}, {"libc.so.6", "start_thread"}}, 1},
      {{{"libc10.so", ""}, {"libc10.so", "c10::alloc_cpu"}}, 1},
      // Seen where --find-nan is told of an operation: the operation, not the observer's call.
      {{{"libtorch_cpu.so", "at::RecordFunction::end"}, {"libtorch_cpu.so", "at::_ops::log::call"}}, 1},
      {{{"libc10.so", ""}, {"", ""}}, 0},
      {{{"", "jit_code"}, {"train", "_start"}}, 0},
  };
  for (const auto& row : rows) {
    NativeHeadline headline;
    for (const Frame& frame : row.frames) {
      if (headline.add(frame.object, frame.function)) break;
    }
    EXPECT_EQ(headline.frame(), row.expected) << &row - rows;
  }
}

TEST(Headline, TheDispatchersStepsAreShownAsTheirOperation) {
  const auto shown = [](std::string_view function) {
    const auto [scope, name] = headline_function(function);
    return std::string(scope).append(name);
  };
  EXPECT_EQ(shown("at::_ops::mm::redispatch"), "aten::mm");
  EXPECT_EQ(shown("at::native::mm"), "at::native::mm");
  EXPECT_EQ(shown(""), "");
}

TEST(Headline, FunctionsWithoutParameters) {
  const std::pair<const char*, const char*> rows[] = {
      {"at::Tensor at::native::add(at::Tensor const&)", "at::native::add"},
      {"a::(anonymous namespace)::f(int)", "a::(anonymous namespace)::f"},
      {"a::f(int)::{lambda(int)#1}::operator()(int) const", "a::f(int)::{lambda(int)#1}::operator()"},
      {"a::operator->(b) [clone .isra.0]", "a::operator->"},
      {"main", "main"},
      {"", ""},
  };
  for (const auto& [full, name] : rows) EXPECT_EQ(without_parameters(full), name);
}

}  // namespace
}  // namespace tensorscope::rules
