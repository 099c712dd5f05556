// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/support/regular_file.cc analyzer/dump/decode/source_lines.cc
#include "symbols/source_lines.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "dump/reader.h"
#include "dump_generated.h"
#include "support/dump_builder.h"
#include "support/regular_file.h"
#include "support/under_qemu.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {
namespace {

using testing::DumpBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SourceFileSpec;

const std::string kText = "import torch\n\n    losses.append(loss)  \n";

class SourceLinesTest : public ::testing::Test {
 protected:
  SourceLinesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "source_lines.XXXXXX").string();
    directory_ = mkdtemp(name.data());
    file_ = directory_ / "train.py";
    std::ofstream(file_) << kText;
    dump_.process.working_directory = directory_;
    dump_.process.start_unix_ns = UINT64_MAX / 2;
  }
  ~SourceLinesTest() override { std::filesystem::remove_all(directory_); }

  void read(const DumpBuilder& builder) {
    const std::string bytes = builder.bytes();
    dump_ = read_dump_bytes(bytes.data(), bytes.size(), "x.tscope");
  }
  std::string line(const std::string& file, int number, const std::vector<std::string>& folders = {}) {
    SourceLines lines(dump_, folders);
    const std::string text = lines.line(file, number);
    notes_ = lines.notes();
    return text;
  }

  std::filesystem::path directory_;
  std::string file_;
  Dump dump_;
  std::vector<std::string> notes_;
};

TEST_F(SourceLinesTest, ADumpDoesNotChooseWhatIsOpened) {
  EXPECT_EQ(line(file_, 1), "");
  EXPECT_EQ(line("train.py", 1), "");
  EXPECT_EQ(line("/etc/passwd", 1), "");
}

TEST_F(SourceLinesTest, LinesOfTheDump) {
  DumpBuilder builder;
  builder.source_file({"/gone/train.py", {{3, "main()"}, {9, "loss\t= f(x)"}}});
  read(builder);
  EXPECT_THAT(dump_.problems, IsEmpty());
  EXPECT_EQ(line("/gone/train.py", 3), "main()");
  EXPECT_EQ(line("/gone/train.py", 9), "loss = f(x)");
  for (const int number : {-5, 0, 1, 4, 10}) EXPECT_EQ(line("/gone/train.py", number), "");
  EXPECT_EQ(line("/gone/other.py", 3), "");
}

TEST_F(SourceLinesTest, TextOfADumpIsFitForATerminal) {
  DumpBuilder builder;
  builder.source_file({"train.py", {{1, "print('\x1b]0;title\x07')"}, {2, "\xff\xe2\x80\xae"}}});
  read(builder);
  EXPECT_EQ(line("train.py", 1), "print('\\x1b]0;title\\x07')");
  EXPECT_EQ(line("train.py", 2), "\\xff\\u202e");
}

TEST_F(SourceLinesTest, LinesThatCannotBe) {
  DumpBuilder builder;
  builder.source_file({"a.py", {{7, "seven"}, {7, "again"}, {3, "three"}, {0, "none"}, {UINT32_MAX, "far"}}});
  builder.source_file({"a.py", {{7, "another"}}});
  builder.source_file({"", {{1, "nameless"}}});
  builder.source_file({"b.py", {{1, std::string(5000, 'x')}, {2, "two\nthree"}}, format::SourceState(9)});
  read(builder);
  EXPECT_THAT(
      dump_.problems,
      ElementsAre(AllOf(HasSubstr("6 invalid source lines"), HasSubstr("1 source files listed twice"),
                        HasSubstr("1 source files without a name"), HasSubstr("1 source files in an invalid state"))));
  EXPECT_EQ(line("a.py", 7), "seven");
  EXPECT_EQ(line("a.py", 3), "");
  EXPECT_EQ(line("b.py", 1), "");
}

TEST_F(SourceLinesTest, AFolderStandsForTheRootOrTheWorkingDirectory) {
  EXPECT_EQ(line(file_, 1, {"/"}), "import torch");
  EXPECT_EQ(line(file_, 3, {directory_}), "losses.append(loss)");
  EXPECT_EQ(line("train.py", 1, {directory_}), "import torch");
  EXPECT_EQ(line("train.py", 1, {"/"}), "import torch");
  EXPECT_EQ(line(file_, 4, {directory_}), "");
  EXPECT_EQ(line("/elsewhere/train.py", 1, {directory_}), "") << "another file of that name";
}

TEST_F(SourceLinesTest, WithItsHashAFileIsKnownAnywhereBelow) {
  DumpBuilder builder;
  builder.start_unix_ns = 1;  // long before the file was written
  builder.source_file(
      {"/cluster/me/train.py", {}, format::SourceState::read, kText.size(), XXH3_64bits(kText.data(), kText.size())});
  read(builder);
  EXPECT_EQ(line("/cluster/me/train.py", 1, {directory_}), "import torch");
  std::ofstream(file_, std::ios::app) << "\n";
  EXPECT_EQ(line("/cluster/me/train.py", 1, {directory_}), "");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("is not the file that ran")));
}

TEST_F(SourceLinesTest, ChangedSinceTheStartIsNotShown) {
  timespec times[2] = {{2'000'000, 0}, {2'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, file_.c_str(), times, 0), 0);
  auto started = [&](uint64_t unix_ns) {
    dump_.process.start_unix_ns = unix_ns;
    return line(file_, 1, {"/"});
  };
  EXPECT_EQ(started(2'000'000'000'000'000), "import torch");
  EXPECT_EQ(started(1'999'999'000'000'000), "");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("written after the process started")));
  // Written and run at once, by a clock that ticks.
  EXPECT_EQ(started(1'999'999'990'000'000), "import torch");
  // A forked child's own start is later than that of the program whose code it runs.
  dump_.sources.newest_unix_ns = 1'999'999'000'000'000;
  EXPECT_EQ(started(2'000'000'000'000'000), "");
}

TEST_F(SourceLinesTest, NothingLeadsOutOfTheFolder) {
  const std::filesystem::path inside = directory_ / "inside";
  std::filesystem::create_directories(inside / "package");
  std::filesystem::create_symlink(directory_, inside / "out");
  std::filesystem::create_symlink(file_, inside / "absolute.py");
  std::filesystem::create_symlink("../train.py", inside / "relative.py");
  std::filesystem::create_symlink("package", inside / "link");
  std::ofstream(inside / "package/model.py") << "here\n";
  for (const char* path : {"/../train.py", "../train.py", "/package/../../train.py", "/out/train.py", "/absolute.py",
                           "/relative.py", "/package/../out/train.py"}) {
    EXPECT_EQ(line(path, 1, {inside}), "") << path;
  }
  EXPECT_EQ(line("/package/model.py", 1, {inside}), "here");
  if (under_qemu()) GTEST_SKIP() << kNoOpenat2;
  EXPECT_EQ(line("/link/model.py", 1, {inside}), "here");
  EXPECT_EQ(line("/package/../package/model.py", 1, {inside}), "here");
}

TEST_F(SourceLinesTest, WithoutOpenat2NoLinkIsFollowed) {
  const std::filesystem::path inside = directory_ / "inside";
  std::filesystem::create_directories(inside / "package");
  std::filesystem::create_symlink(directory_, inside / "out");
  std::ofstream(inside / "package/model.py") << "here\n";
  const int folder = open(inside.c_str(), O_PATH | O_DIRECTORY);
  auto is_file = [&](const std::string& path) {
    const int found = detail::walk_beneath(folder, path);
    struct stat status;
    const bool file = found >= 0 && fstat(found, &status) == 0 && S_ISREG(status.st_mode);
    if (found >= 0) close(found);
    return file;
  };
  EXPECT_TRUE(is_file("package/model.py"));
  EXPECT_TRUE(is_file("package//./model.py"));
  EXPECT_FALSE(is_file("package/../package/model.py"));
  EXPECT_FALSE(is_file("out/train.py"));
  EXPECT_FALSE(is_file("../train.py"));
  EXPECT_FALSE(is_file("missing/model.py"));
  close(folder);
}

TEST_F(SourceLinesTest, WhatIsNoFile) {
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  for (const std::string file : {"/dev/zero", "/proc/self/cmdline", directory_.c_str(), "<stdin>", ""}) {
    EXPECT_EQ(line(file, 1, {"/"}), "") << file;
  }
  EXPECT_EQ(line(directory_ / "pipe", 1, {"/"}), "");
}

}  // namespace
}  // namespace tensorscope::analyzer
