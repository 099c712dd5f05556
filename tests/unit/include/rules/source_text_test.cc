// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/source_text.h"

#include <gtest/gtest.h>

#include <string>

namespace tensorscope::rules {
namespace {

TEST(SourceText, KeptLines) {
  const std::string most(kMaxLineBytes, 'x'), nearly(kMaxLineBytes - 1, 'x');
  const struct {
    std::string line, kept;
  } rows[] = {
      {"", ""},
      {" \t ", ""},
      {"\t  loss = f(x)  \r", "loss = f(x)"},
      {"  " + most, most},
      {most + "y", most},
      {nearly + "\xc3\xa4", nearly},
      {nearly + "  y", nearly},
  };
  for (const auto& row : rows) EXPECT_EQ(kept_line(row.line), row.kept);
}

TEST(SourceText, AFileThatWasWrittenJustBeforeTheStart) {
  EXPECT_TRUE(may_be_what_runs(1'000'000'000, 1'000'000'000));
  EXPECT_TRUE(may_be_what_runs(1'020'000'000, 1'000'000'000));
  EXPECT_FALSE(may_be_what_runs(1'020'000'001, 1'000'000'000));
}

}  // namespace
}  // namespace tensorscope::rules
