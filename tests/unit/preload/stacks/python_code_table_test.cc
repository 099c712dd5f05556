// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_code_table.h"

#include <gtest/gtest.h>

#include <string>

#include "fake_python.h"

namespace tensorscope::stacks {
namespace {

class PythonCodeTableTest : public testing::Test {
 protected:
  uint32_t see(const void* code) {
    uint32_t id = table.find(code, python.layout);
    return id != 0 ? id : table.add(code, python.layout);
  }

  FakePython python;
  Arena arena;
  std::unique_ptr<PythonCodeTable> owned = std::make_unique<PythonCodeTable>(arena);
  PythonCodeTable& table = *owned;
};

TEST_F(PythonCodeTableTest, CopiesAtFirstSight) {
  char* code = python.code("train.py", "Model.forward", 57);
  EXPECT_EQ(table.find(code, python.layout), 0u);
  uint32_t id = table.add(code, python.layout);
  ASSERT_NE(id, 0u);
  EXPECT_EQ(table.find(code, python.layout), id);
  EXPECT_EQ(table.add(code, python.layout), id);
  EXPECT_STREQ(table[id].file, "train.py");
  EXPECT_STREQ(table[id].name, "Model.forward");
  EXPECT_EQ(table[id].first_line, 57);
  EXPECT_EQ(table[id].line_table_size, 2u);
  EXPECT_EQ(table.size(), id + 1);
}

TEST_F(PythonCodeTableTest, EqualCodeObjectsShareAnId) {
  EXPECT_EQ(see(python.code("a.py", "f", 1)), see(python.code("a.py", "f", 1)));
  EXPECT_NE(see(python.code("a.py", "f", 1)), see(python.code("a.py", "f", 2)));
  EXPECT_NE(see(python.code("a.py", "f", 1)), see(python.code("b.py", "f", 1)));
  EXPECT_NE(see(python.code("a.py", "f", 1)), see(python.code("a.py", "g", 1)));
  char* other = python.code("a.py", "f", 1);
  python.fill_code(other, python.text("a.py"), python.text("f"), python.bytes({0x80 | 13 << 3, 2}), 1);
  EXPECT_NE(see(python.code("a.py", "f", 1)), see(other));
}

// The case that pointers alone cannot tell: everything is freed, and everything comes back at the same addresses.
TEST_F(PythonCodeTableTest, AFreedAddressIsForgotten) {
  char *file = python.text("a.py"), *name = python.text("f"), *lines = python.bytes({0x80 | 13 << 3, 0});
  char* code = python.object(FakePython::kCodeBytes);
  python.fill_code(code, file, name, lines, 1);
  uint32_t first = see(code);
  uint64_t generation = table.generation();
  table.forget(code);
  EXPECT_NE(table.generation(), generation);
  EXPECT_EQ(table.find(code, python.layout), 0u);
  name[python.layout.text_ascii] = 'g';
  uint32_t second = see(code);
  EXPECT_NE(second, first);
  EXPECT_STREQ(table[first].name, "f");
  EXPECT_STREQ(table[second].name, "g");
  table.forget(code);
  name[python.layout.text_ascii] = 'f';
  EXPECT_EQ(see(code), first);
}

TEST_F(PythonCodeTableTest, UnknownAddressesMayBeFreed) {
  table.forget(python.code("a.py", "f", 1));
  see(python.code("a.py", "f", 1));
  uint64_t generation = table.generation();
  table.forget(python.code("a.py", "g", 1));
  EXPECT_EQ(table.generation(), generation);
}

TEST_F(PythonCodeTableTest, AnAddressWithOtherFieldsIsAnotherCodeObject) {
  char* code = python.code("a.py", "f", 1);
  uint32_t first = see(code);
  python.fill_code(code, python.text("a.py"), python.text("f"), python.bytes({0x80 | 13 << 3, 0}), 2);
  EXPECT_EQ(table.find(code, python.layout), 0u);
  EXPECT_NE(see(code), first);
}

TEST_F(PythonCodeTableTest, KnowsTorchsCallWrappers) {
  const std::string file = "/usr/lib/python3/dist-packages/torch/nn/modules/module.py";
  EXPECT_EQ(table[see(python.code(file, "Module._wrapped_call_impl", 1))].call, ModuleCall::wrapped);
  EXPECT_EQ(table[see(python.code(file, "_wrapped_call_impl", 1))].call, ModuleCall::wrapped);
  EXPECT_EQ(table[see(python.code(file, "Module._call_impl", 1))].call, ModuleCall::plain);
  EXPECT_EQ(table[see(python.code(file, "Module.forward", 1))].call, ModuleCall::none);
  EXPECT_EQ(table[see(python.code("module.py", "Module._call_impl", 1))].call, ModuleCall::none);
}

TEST_F(PythonCodeTableTest, HoldsThousands) {
  std::vector<char*> codes;
  for (int i = 0; i < 5000; ++i) codes.push_back(python.code("a.py", "f" + std::to_string(i), i));
  std::vector<uint32_t> ids;
  for (char* code : codes) ids.push_back(see(code));
  for (int i = 0; i < 5000; ++i) {
    EXPECT_EQ(table.find(codes[size_t(i)], python.layout), ids[size_t(i)]);
    EXPECT_EQ(table[ids[size_t(i)]].first_line, i);
  }
}

TEST_F(PythonCodeTableTest, IdZeroIsTheMarkOfADeepStack) {
  EXPECT_STREQ(table[PythonCodeTable::kLeftOut].name, "<outer frames not recorded>");
  EXPECT_EQ(table.size(), 1u);
}

}  // namespace
}  // namespace tensorscope::stacks
