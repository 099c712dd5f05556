#include "model/source_lines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tensorscope::model {
namespace {

class SourceLinesTest : public ::testing::Test {
 protected:
  SourceLinesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "source_lines.XXXXXX").string();
    directory_ = mkdtemp(name.data());
    std::ofstream(directory_ / "train.py") << "import torch\n\n    losses.append(loss)  \n";
  }
  ~SourceLinesTest() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(SourceLinesTest, LinesAreTrimmed) {
  SourceLines lines("", "/", 0);
  const std::string file = directory_ / "train.py";
  EXPECT_EQ(lines.line(file, 1), "import torch");
  EXPECT_EQ(lines.line(file, 2), "");
  EXPECT_EQ(lines.line(file, 3), "losses.append(loss)");
  EXPECT_EQ(lines.line(file, 4), "");
  EXPECT_EQ(lines.line(file, 0), "");
  EXPECT_EQ(lines.line(file, -5), "");
}

TEST_F(SourceLinesTest, RelativeToTheWorkingDirectoryAndSysroot) {
  EXPECT_EQ(SourceLines("", directory_, 0).line("train.py", 1), "import torch");
  EXPECT_EQ(SourceLines(directory_, "/", 0).line("/train.py", 1), "import torch");
}

TEST_F(SourceLinesTest, ChangedSinceTheStartIsNotShown) {
  const std::string file = directory_ / "train.py";
  timespec times[2] = {{2'000'000, 0}, {2'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  EXPECT_EQ(SourceLines("", "/", 2'000'000'000'000'000).line(file, 1), "import torch");
  EXPECT_EQ(SourceLines("", "/", 1'999'999'000'000'000).line(file, 1), "");
  // Written and run at once, by a clock that ticks.
  EXPECT_EQ(SourceLines("", "/", 1'999'999'990'000'000).line(file, 1), "import torch");
}

TEST_F(SourceLinesTest, WhatIsNoFile) {
  SourceLines lines("", "/", 0);
  EXPECT_EQ(lines.line("/dev/zero", 1), "");
  EXPECT_EQ(lines.line(directory_, 1), "");
  EXPECT_EQ(lines.line("<stdin>", 1), "");
  EXPECT_EQ(lines.line("", 1), "");
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(lines.line(directory_ / "pipe", 1), "");
}

}  // namespace
}  // namespace tensorscope::model
