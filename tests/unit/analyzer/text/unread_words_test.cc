// SPDX-License-Identifier: Apache-2.0
#include "text/unread_words.h"

#include <gtest/gtest.h>

namespace tensorscope::text {
namespace {

TEST(UnreadWords, WhatIsMissingWhatForAndWhatToDo) {
  analyzer::UnreadFiles files;
  EXPECT_EQ(unread_phrase(files, "it is worse"), "");
  files.libraries = {"/a/libc10.so", "/a/libtorch_cpu.so"};
  EXPECT_EQ(unread_phrase(files, "it is worse"),
            "2 libraries could not be read here (such as /a/libtorch_cpu.so), so it is worse. Run this on the machine "
            "that the dump or recording is from, or name a folder with its files: --sysroot.");
  files.libraries = {"/a/libc10.so"};
  files.sources = {"/b/train.py"};
  EXPECT_EQ(
      unread_phrase(files, "it is worse"),
      "1 library could not be read here (/a/libc10.so) and lines of 1 source file are not known (/b/train.py), so "
      "it is worse. Run this on the machine that the dump or recording is from, or name a folder with its files: "
      "--sysroot. Name a folder with the program's source files: --source.");
  files.switched_off = true;
  files.sources.clear();
  EXPECT_EQ(unread_phrase(files, "it is worse"),
            "Functions of libraries were not looked up (--no-symbols), so it is worse. Leave out --no-symbols.");
  files = {};
  files.not_recorded = true;
  EXPECT_EQ(unread_phrase(files, "it is worse"),
            "Native stacks were not recorded of everything (TENSORSCOPE_NATIVE, --native-from), so it is worse. Record "
            "with native stacks.");
}

TEST(UnreadWords, AnswersThatShowNamesSayOfLibrariesAlone) {
  analyzer::UnreadFiles files;
  files.not_recorded = true;
  files.sources = {"/b/train.py"};
  EXPECT_EQ(unread_names_phrase(files), "");
  files.libraries = {"/a/libc10.so"};
  EXPECT_EQ(
      unread_names_phrase(files),
      "1 library could not be read here (/a/libc10.so), so what depends on names of functions may be missing, or "
      "be shown by address. Run this on the machine that the dump or recording is from, or name a folder with its "
      "files: --sysroot.");
  files.switched_off = true;
  EXPECT_EQ(unread_names_phrase(files), "");
}

}  // namespace
}  // namespace tensorscope::text
