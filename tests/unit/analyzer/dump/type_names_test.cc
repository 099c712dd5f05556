// SPDX-License-Identifier: Apache-2.0
#include "dump/type_names.h"

#include <gtest/gtest.h>

namespace tensorscope::analyzer {
namespace {

TEST(TypeNames, Codes) {
  EXPECT_EQ(dtype_name(0), "uint8");
  EXPECT_EQ(dtype_name(6), "float32");
  EXPECT_EQ(dtype_name(15), "bfloat16");
  EXPECT_EQ(dtype_name(24), "float8_e4m3fn");
  EXPECT_EQ(dtype_name(29), "uint64");
  EXPECT_EQ(dtype_name(45), "float4_e2m1fn_x2");
  EXPECT_EQ(dtype_name(46), "dtype 46");
  EXPECT_EQ(dtype_name(-1), "unknown");
  EXPECT_EQ(layout_name(3), "mkldnn");
  EXPECT_EQ(layout_name(7), "jagged");
  EXPECT_EQ(device_type_name(14), "meta");
  EXPECT_EQ(device_type_name(20), "privateuseone");
}

TEST(TypeNames, Classes) {
  EXPECT_EQ(class_name_of("N3c1010TensorImplE"), "c10::TensorImpl");
  EXPECT_EQ(class_name_of("N5torch8autograd9generated14AddmmBackward0E"), "torch::autograd::generated::AddmmBackward0");
  EXPECT_EQ(class_name_of("6MyImpl"), "MyImpl");
  EXPECT_EQ(class_name_of("*N12_GLOBAL__N_16MyImplE"), "(anonymous namespace)::MyImpl");
  EXPECT_EQ(class_name_of("N5torch8autograd7CppNodeI6MyFuncEE"), "torch::autograd::CppNode<MyFunc>");
  EXPECT_EQ(class_name_of(""), "");
  EXPECT_EQ(class_name_of("main"), "main");
  EXPECT_EQ(class_name_of("N999999999999999999999x"), "N999999999999999999999x");
}

TEST(TypeNames, LastComponent) {
  EXPECT_EQ(last_component("torch::autograd::generated::AddmmBackward0"), "AddmmBackward0");
  EXPECT_EQ(last_component("torch::autograd::CppNode<my::Func>"), "CppNode<my::Func>");
  EXPECT_EQ(last_component("PyNode"), "PyNode");
  EXPECT_EQ(last_component("::"), "");
}

// A name whose demangled form doubles with every letter must cost no more than its own length.
TEST(TypeNames, ExplodingNamesStayAsTheyAre) {
  std::string bomb = "1aI";
  for (int i = 0; i < 60; i++) bomb += "1bIS_S_E";
  bomb += "E";
  EXPECT_LE(class_name_of(bomb).size(), 512u);
  EXPECT_LE(class_name_of(std::string(100'000, 'N')).size(), 512u);
}

}  // namespace
}  // namespace tensorscope::analyzer
