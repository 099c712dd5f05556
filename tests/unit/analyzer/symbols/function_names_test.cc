// SPDX-License-Identifier: Apache-2.0
#include "symbols/function_names.h"

#include <gtest/gtest.h>

namespace tensorscope::analyzer {
namespace {

TEST(FunctionNames, Symbols) {
  EXPECT_EQ(readable_function("main"), "main");
  EXPECT_EQ(readable_function("_ZN2at4_ops10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE"),
            "at::_ops::add_Tensor::call");
  EXPECT_EQ(readable_function("_PyEval_EvalFrameDefault.cold"), "_PyEval_EvalFrameDefault");
  EXPECT_EQ(readable_function("_PyEval_EvalFrameDefault.localalias.12"), "_PyEval_EvalFrameDefault");
  EXPECT_EQ(readable_function("memcpy@@GLIBC_2.14"), "memcpy");
  EXPECT_EQ(readable_function("_ZN3c108TypeMetaC2Ev.cold"), "c10::TypeMeta::TypeMeta");
  EXPECT_EQ(readable_function("_Znot_a_symbol"), "_Znot_a_symbol");
  EXPECT_EQ(readable_function(""), "");
}

TEST(FunctionNames, WithoutParameters) {
  const std::pair<const char*, const char*> cases[] = {
      {"f(int)", "f"},
      {"a::f(int, b::c<d>) const", "a::f"},
      {"void a::f<int>(int)", "a::f<int>"},
      {"std::vector<int, std::allocator<int> > a::f<int>(int)", "a::f<int>"},
      {"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
      {"a::(anonymous namespace)::f(int)", "a::(anonymous namespace)::f"},
      {"a::B::operator()(int) const", "a::B::operator()"},
      {"a::f(int)::{lambda(int)#1}::operator()(int) const", "a::f(int)::{lambda(int)#1}::operator()"},
      {"a::f(int) const::{lambda(long)#2}::operator()(long) const", "a::f(int) const::{lambda(long)#2}::operator()"},
      {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>"},
      {"a::B::operator unsigned long() const", "a::B::operator unsigned long"},
      {"operator new(unsigned long)", "operator new"},
      {"a::operator->(b) [clone .isra.0]", "a::operator->"},
      {"non-virtual thunk to a::B::f(int)", "a::B::f"},
      {"decltype(auto) a::f(int)", "a::f"},
      {"a::B::~B()", "a::B::~B"},
      {"no parameters", "parameters"},
      {"", ""},
  };
  for (const auto& [full, name] : cases) EXPECT_EQ(without_parameters(full), name) << full;
}

TEST(FunctionNames, BoundedLength) {
  EXPECT_LE(without_parameters("a::" + std::string(100'000, 'b') + "(int)").size(), 515u);
  EXPECT_LE(readable_function("_ZN" + std::string(100'000, 'b')).size(), 515u);
  EXPECT_LE(readable_function(std::string(100'000, 'b')).size(), 515u);
}

}  // namespace
}  // namespace tensorscope::analyzer
