// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/name_forms.h"

#include <gtest/gtest.h>

namespace tensorscope::rules {
namespace {

std::string merged(const std::vector<std::string>& names) {
  NameForms forms;
  for (const std::string& name : names) forms.add(name, 1);
  std::string text;
  for (const NameForms::Form& form : forms.largest(8)) text += (text.empty() ? "" : "; ") + form.text;
  return text;
}

TEST(NameForms, NumbersThatDiffer) {
  const struct {
    std::vector<std::string> names;
    const char* text;
  } rows[] = {
      {{}, ""},
      {{""}, ""},
      {{"model.fc1.weight"}, "model.fc1.weight"},
      {{"history[0] (list)", "history[2] (list)", "history[1] (list)"}, "history[0..2] (list)"},
      {{"atexit, #1: close", "atexit, #2: close"}, "atexit: close"},
      {{"seen (in the waiting f, #2)"}, "seen (in the waiting f, #2)"},
      {{"history[3]", "history[3]"}, "history[3]"},
      {{"cache[Key at 0x7f00a0]", "cache[Key at 0x7f00b0]"}, "cache[Key]"},
      {{"cache[Key at 0x7f00a0][0]", "cache[Key at 0x7f00a0][1]"}, "cache[Key at 0x7f00a0][0..1]"},
      {{"bags{Bag at 0x7f00a0}.items[0]", "bags{Bag at 0x7f00b0}.items[1]"}, "bags{Bag}.items[*]"},
      {{"cache[Key at 0xno]", "cache[Key at 0x]"}, "cache[Key at 0xno]; cache[Key at 0x]"},
      {{"a[1]", "a[2]", "a[2]"}, "a[1..2]"},
      {{"a[1]", "a[5]"}, "a[1,5]"},
      {{"a[1]", "a[5]", "a[7]", "a[100]"}, "a[*]"},
      {{"model.layers.0.fc1", "model.layers.1.fc1"}, "model.layers.*.fc1"},
      {{"a[0][5]", "a[1][6]"}, "a[*][*]"},
      {{"h[1]['a'][2]", "h[1]['a'][3]"}, "h[1]['a'][2..3]"},
      {{"fc1.weight", "fc2.weight"}, "fc1.weight; fc2.weight"},
      {{"x_1[0]", "x_1[1]"}, "x_1[0..1]"},
      {{"a[99999999999999999999999999]"}, "a[99999999999999999999999999]"},
      {{"a[999999999999999999]"}, "a[999999999999999999]"},
      {{"\xc3\xa4[0]", "\xc3\xa4[1]"}, "\xc3\xa4[0..1]"},
  };
  for (const auto& row : rows) EXPECT_EQ(merged(row.names), row.text);
}

TEST(NameForms, TheLargestFirst) {
  NameForms forms;
  forms.add("step[0]", 4);
  forms.add("b", 8);
  forms.add("step[1]", 4);
  forms.add("exp_avg", 4096);
  forms.add("c", 8);
  ASSERT_EQ(forms.size(), 4u);
  const std::vector<NameForms::Form> all = forms.largest(3);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].text, "exp_avg");
  EXPECT_EQ(all[0].bytes, 4096u);
  EXPECT_EQ(all[1].text, "step[0..1]");  // as many bytes as the others, and more names
  EXPECT_EQ(all[1].names, 2u);
  EXPECT_EQ(all[1].bytes, 8u);
  EXPECT_EQ(all[2].text, "b");  // came first
}

}  // namespace
}  // namespace tensorscope::rules
