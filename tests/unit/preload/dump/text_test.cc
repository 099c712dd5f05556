// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "dump/chunk.h"
#include "dump/string_table.h"
#include "dump/system_totals.h"
#include "support/small_file.h"
#include "support/under_qemu.h"
#include "torch/metadata/torch_version.h"

namespace tensorscope::dump {
namespace {

TEST(Utf8, WellFormedTextStays) {
  for (const std::string text : {"", "train.py", "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"}) {
    EXPECT_TRUE(Chunk::is_utf8(text.data(), text.size())) << text;
    EXPECT_EQ(Chunk::as_utf8(text.data(), text.size()), text);
  }
}

TEST(Utf8, OtherBytesAreReplaced) {
  const std::string replaced = "\xEF\xBF\xBD";
  // A lone continuation, a cut sequence, overlong forms, a surrogate, beyond the last code point.
  for (const std::string text :
       {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(Chunk::is_utf8(text.data(), text.size()));
    const std::string clean = Chunk::as_utf8(text.data(), text.size());
    EXPECT_TRUE(Chunk::is_utf8(clean.data(), clean.size()));
  }
  EXPECT_EQ(Chunk::as_utf8("a\xFFz", 3), "a" + replaced + "z");
}

TEST(StringTable, KeepsEachTextOnce) {
  StringTable strings;
  EXPECT_EQ(strings.intern(""), 0u);
  const uint32_t a = strings.intern("a");
  std::string same = "a";
  EXPECT_EQ(strings.intern(same), a);
  static const char literal[] = "a";
  EXPECT_EQ(strings.intern_literal(literal), a);
  EXPECT_EQ(strings.intern_literal(literal), a);
  EXPECT_NE(strings.intern("b"), a);
  ASSERT_EQ(strings.values().size(), 3u);
  EXPECT_EQ(strings.values()[a], "a");
}

TEST(NumberAfter, FindsTheLine) {
  const char* text = "VmPeak:\t 5 kB\nVmHWM:\t  77 kB\nVmRSS:\t66 kB\n";
  EXPECT_EQ(number_after(text, "VmHWM:"), 77u);
  EXPECT_EQ(number_after(text, "VmPeak:"), 5u);
  EXPECT_EQ(number_after(text, "VmSwap:"), 0u);
}

TEST(Stat, FieldsAreNumberedAsInTheManual) {
  EXPECT_EQ(read_stat("/proc/self/stat", 4), uint64_t(getppid()));
  EXPECT_EQ(read_stat("/proc/self/stat", 1000), 0u);
  EXPECT_EQ(read_stat("/proc/0/stat", 4), 0u);
  if (under_qemu()) GTEST_SKIP() << "qemu's own /proc/self/stat has no process group";
  EXPECT_EQ(read_stat("/proc/self/stat", 5), uint64_t(getpgrp()));
}

TEST(SystemTotals, AreThisProcesss) {
  const SystemTotals totals = read_system_totals();
  EXPECT_GT(totals.resident, 0u);
  EXPECT_GE(totals.resident_peak, totals.resident / 2);
  EXPECT_GT(totals.machine_total, totals.resident);
  EXPECT_GT(totals.anonymous, 0u);
  EXPECT_GT(totals.file, 0u);
}

TEST(TorchVersion, IsReadFromVersionPy) {
  EXPECT_EQ(torch::version_in_python_file(
                "from typing import Optional\n\n__all__ = ['__version__']\n__version__ = '2.13.0+cpu'\n"),
            "2.13.0+cpu");
  EXPECT_EQ(torch::version_in_python_file("__version__ = \"2.6.0\"\ndebug = False"), "2.6.0");
  EXPECT_EQ(torch::version_in_python_file("debug = False"), "");
  EXPECT_EQ(torch::version_in_python_file("__version__ = something\n"), "");
}

}  // namespace
}  // namespace tensorscope::dump
