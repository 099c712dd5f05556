// SPDX-License-Identifier: Apache-2.0
#include "html/confidential.h"

#include <gtest/gtest.h>

namespace tensorscope::html {
namespace {

TEST(WithoutFolders, LeavesTheLastPartOfAPath) {
  const WithoutFolders without;
  EXPECT_EQ(without.in_text("/home/ann/secret/train.py:57 step"), "train.py:57 step");
  EXPECT_EQ(without.in_text("held by (/data/x.py: a[0])"), "held by (x.py: a[0])");
  EXPECT_EQ(without.in_text("~/models/a.pt, ../b/c.pt"), "a.pt, c.pt");
  EXPECT_EQ(without.in_text("TENSORSCOPE_DIR=/mnt/ann/dumps"), "TENSORSCOPE_DIR=dumps");
}

TEST(WithoutFolders, LeavesNoNameOfAUser) {
  const WithoutFolders without;
  EXPECT_EQ(without.in_text("in /home/ann"), "in ");
  EXPECT_EQ(without.in_text("/Users/ann: x"), ": x");
  EXPECT_EQ(without.in_text("~ann"), "");
}

TEST(WithoutFolders, LeavesOtherTextAsItIs) {
  const WithoutFolders without;
  for (const char* text :
       {"", "model/layers.py:3", "torch/nn/modules/linear.py", "1.0 MiB (65 %)", "a/b", "x / y", "layers.0.fc1"}) {
    EXPECT_EQ(without.in_text(text), text == std::string("x / y") ? "x  y" : text);
  }
}

TEST(WithoutFolders, KnowsFoldersWithBlanksFromTheDump) {
  analyzer::Dump dump;
  dump.process.working_directory = "/home/ann smith/my project";
  dump.codes.push_back({"/opt/other code/x.py", "f", 1});
  WithoutFolders without;
  without.add(dump);
  EXPECT_EQ(without.in_text("/home/ann smith/my project/train.py:3 and /opt/other code/x.py:1"),
            "train.py:3 and x.py:1");
}

TEST(WithoutFolders, GoesThroughAllOfAValue) {
  const WithoutFolders without;
  EXPECT_EQ(without.in_json(Json{{"/a/key", {"/b/c", 1, {{"x", "/d/e"}}}}}), (Json{{"key", {"c", 1, {{"x", "e"}}}}}));
}

TEST(MakeConfidential, TakesOutWhoAndWhere) {
  analyzer::Dump dump;
  dump.path = "/home/ann/train.1.tscope";
  dump.process.host = "node7";
  dump.process.command_line = {"python", "train.py", "--token=1"};
  dump.process.options = {{"TENSORSCOPE_DIR", "/home/ann"}};
  dump.process.executable = "/home/ann/venv/bin/python";
  dump.sources.files.push_back({"/home/ann/train.py", 0, 0, 0, {{1, "secret = 1"}}});
  make_confidential(dump);
  EXPECT_EQ(dump.path, "train.1.tscope");
  EXPECT_EQ(dump.process.host, "");
  EXPECT_TRUE(dump.process.command_line.empty());
  EXPECT_TRUE(dump.process.options.empty());
  EXPECT_EQ(dump.process.executable, "python");
  EXPECT_TRUE(dump.sources.files.empty());
  EXPECT_TRUE(dump.sources.present);  // else a moment of a recording would take another dump's
}

}  // namespace
}  // namespace tensorscope::html
