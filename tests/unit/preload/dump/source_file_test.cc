// SPDX-License-Identifier: Apache-2.0
#include "dump/source/source_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tensorscope/dump_format.h"
#include "tensorscope/rules/source_text.h"

namespace tensorscope::dump {
namespace {

class SourceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tensorscope-source-file-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    path_ = folder_ + "/train.py";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

  // The texts of these lines.
  std::vector<std::string> read(const std::vector<uint32_t>& numbers, uint64_t newest_unix_ns = UINT64_MAX / 2,
                                uint64_t most_bytes = kMaxSourceBytes, size_t room = 4096) {
    std::vector<SourceLine> lines;
    for (const uint32_t number : numbers) lines.push_back({number, 0, nullptr});
    std::vector<char> texts(room + 1);
    limits_ = {newest_unix_ns, most_bytes, texts.data(), room, false};
    file_ = {path_.c_str(), lines.data(), uint32_t(lines.size()), SourceState::left_out, 0, 0};
    read_source_file(file_, limits_);
    std::vector<std::string> out;
    for (const SourceLine& line : lines) out.emplace_back(line.text != nullptr ? line.text : "", line.length);
    return out;
  }

  std::string folder_, path_;
  SourceFile file_{};
  SourceLimits limits_{};
};

using Texts = std::vector<std::string>;

TEST_F(SourceFileTest, ChosenLinesWithoutTheBlanksAroundThem) {
  const std::string text = "import torch\n\n  \tx = f( 1 )  \r\nlast";
  write(text);
  EXPECT_EQ(read({1, 2, 3, 4, 5}), (Texts{"import torch", "", "x = f( 1 )", "last", ""}));
  EXPECT_EQ(file_.state, SourceState::read);
  EXPECT_EQ(file_.size, text.size());
  EXPECT_EQ(file_.hash, XXH3_64bits(text.data(), text.size()));
  EXPECT_EQ(read({3}), (Texts{"x = f( 1 )"}));
  write("");
  EXPECT_EQ(read({1}), (Texts{""}));
  EXPECT_EQ(file_.state, SourceState::read);
}

// Wherever the pieces in which the file is read end.
TEST_F(SourceFileTest, LinesOfALargeFile) {
  std::string text;
  std::vector<uint32_t> numbers;
  Texts expected;
  for (uint32_t line = 1; line <= 20'000; ++line) {
    const std::string one = "value_" + std::to_string(line) + " = " + std::to_string(line * 7919);
    text += std::string(line % 5, ' ') + one + "\n";
    if (line % 400 != 3) continue;
    numbers.push_back(line);
    expected.push_back(one);
  }
  write(text);
  EXPECT_EQ(read(numbers), expected);
  EXPECT_EQ(file_.hash, XXH3_64bits(text.data(), text.size()));
}

TEST_F(SourceFileTest, LongLinesAreCutBetweenCharacters) {
  std::string text;
  while (text.size() < rules::kMaxLineBytes - 1) text += "x";
  write(text + "\xC3\xA9 and more\nnext\n");
  EXPECT_EQ(read({1, 2}), (Texts{text, "next"}));
  write(text + "yz\n");
  EXPECT_EQ(read({1}), (Texts{text + "y"}));
}

TEST_F(SourceFileTest, AFileThatChangedIsNotBelieved) {
  write("one\n");
  const timespec times[2] = {{2'000'000, 0}, {2'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  EXPECT_EQ(read({1}, 2'000'000'000'000'000), Texts{"one"});
  EXPECT_EQ(read({1}, 1'999'999'000'000'000), Texts{""});
  EXPECT_EQ(file_.state, SourceState::changed);
  EXPECT_EQ(read({1}, 1'999'999'990'000'000), Texts{"one"}) << "written and run at once";
}

TEST_F(SourceFileTest, OnlyARegularFileIsOpened) {
  path_ = folder_ + "/missing.py";
  EXPECT_EQ(read({1}), Texts{""});
  EXPECT_EQ(file_.state, SourceState::unreadable);
  path_ = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  for (const std::string& path : {path_, folder_, std::string("/dev/zero")}) {
    path_ = path;
    EXPECT_EQ(read({1}), Texts{""}) << path;
    EXPECT_EQ(file_.state, SourceState::unreadable) << path;
  }
}

TEST_F(SourceFileTest, Limits) {
  write("one\ntwo\n");
  EXPECT_EQ(read({1}, UINT64_MAX / 2, 7), Texts{""});
  EXPECT_EQ(file_.state, SourceState::left_out);
  EXPECT_EQ(read({1}, UINT64_MAX / 2, 8), Texts{"one"});
  EXPECT_EQ(limits_.bytes_left, 0u);
  EXPECT_EQ(read({1, 2}, UINT64_MAX / 2, 100, 5), (Texts{"one", ""}));
  EXPECT_TRUE(limits_.texts_full);
  ASSERT_EQ(truncate(path_.c_str(), off_t(kMaxSourceBytes) + 1), 0);
  EXPECT_EQ(read({1}), Texts{""});
  EXPECT_EQ(file_.state, SourceState::too_large);
}

TEST_F(SourceFileTest, NoDescriptorStaysOpen) {
  write("one\n");
  const int before = open("/dev/null", O_RDONLY);
  close(before);
  read({1});
  read({1}, 1);
  path_ = folder_;
  read({1});
  const int after = open("/dev/null", O_RDONLY);
  close(after);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace tensorscope::dump
