// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_text.h"

#include <gtest/gtest.h>

#include <string>

#include "fake_python.h"

namespace tensorscope::stacks {
namespace {

std::string utf8(const PythonText& text) {
  std::string out(utf8_size(text), '\0');
  write_utf8(text, out.data());
  return out;
}

class PythonTextTest : public testing::TestWithParam<const PythonLayout*> {
 protected:
  FakePython python{*GetParam()};
};

TEST_P(PythonTextTest, ReadsEveryKind) {
  EXPECT_EQ(utf8(read_text(python.text("Model.forward"), python.layout)), "Model.forward");
  EXPECT_EQ(utf8(read_text(python.text("gr\xf6\xdf"
                                       "e",
                                       5, 1, false),
                           python.layout)),
            "größe");
  EXPECT_EQ(utf8(read_text(python.text(u"関数é", 3, 2, false), python.layout)), "関数é");
  EXPECT_EQ(utf8(read_text(python.text(U"a🐍\U0010ffff", 3, 4, false), python.layout)), "a🐍\U0010ffff");
  EXPECT_EQ(utf8(read_text(python.text(""), python.layout)), "");
}

TEST_P(PythonTextTest, ComparesWithUtf8) {
  PythonText text = read_text(python.text(u"関数", 2, 2, false), python.layout);
  EXPECT_TRUE(equals_utf8(text, "関数"));
  EXPECT_FALSE(equals_utf8(text, "関"));
  EXPECT_FALSE(equals_utf8(text, "関数x"));
  EXPECT_FALSE(equals_utf8(text, "関変"));
}

TEST_P(PythonTextTest, WritesValidUtf8ForUndecodableBytesOfAFileName) {
  const char16_t name[] = {u'a', 0xdcff, u'b'};
  EXPECT_EQ(utf8(read_text(python.text(name, 3, 2, false), python.layout)), "a\ufffdb");
}

TEST_P(PythonTextTest, IsEmptyForWhatIsNoCompactStr) {
  EXPECT_EQ(read_text(nullptr, python.layout).length, 0u);
  char* legacy = python.text("abc");
  FakePython::put(legacy, 32, uint32_t{1 << 2});
  EXPECT_EQ(read_text(legacy, python.layout).length, 0u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, PythonTextTest, testing::Values(&kCpython38, &kCpython312));

}  // namespace
}  // namespace tensorscope::stacks
