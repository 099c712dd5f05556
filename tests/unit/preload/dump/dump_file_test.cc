// SPDX-License-Identifier: Apache-2.0
#include "dump/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tensorscope/dump_format.h"

namespace tensorscope::dump {
namespace {

namespace fs = std::filesystem;

// Everything holds for a file without a name and, where there are none, for one with a temporary name.
class DumpFileTest : public testing::TestWithParam<DumpFile::Temporary> {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tensorscope-dump-file-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    const int probe = open(folder, O_TMPFILE | O_WRONLY, 0600);
    if (probe < 0 && GetParam() == DumpFile::Temporary::unnamed) GTEST_SKIP() << "no files without names here";
    close(probe);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static bool start(DumpFile& file, const std::string& folder, const char* name) {
    return file.open(folder.c_str(), name, GetParam());
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }
  std::string content(const char* name) const {
    std::ifstream in(fs::path(folder_) / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  void make(const char* name, const char* text) { std::ofstream(fs::path(folder_) / name) << text; }

  std::string folder_;
};

TEST_P(DumpFileTest, HasItsNameOnlyWhenWhole) {
  DumpFile file;
  ASSERT_TRUE(start(file, folder_, "a.1.tscope"));
  ASSERT_TRUE(file.append(format::kNames, "payload", 7));
  if (GetParam() == DumpFile::Temporary::unnamed) {
    EXPECT_TRUE(files().empty());
  } else {
    ASSERT_EQ(files().size(), 1u);
    EXPECT_EQ(files()[0].find(".a.1.tscope.tmp-"), 0u);
    EXPECT_EQ(files()[0].find(".tscope", files()[0].size() - 7), std::string::npos);
  }
  ASSERT_TRUE(file.give_name("a.1.tscope"));
  EXPECT_EQ(files(), std::vector<std::string>{"a.1.tscope"});
  struct stat status;
  ASSERT_EQ(stat((folder_ + "/a.1.tscope").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_P(DumpFileTest, IsFramedAsTheFormatSays) {
  {
    DumpFile file;
    ASSERT_TRUE(start(file, folder_, "a.tscope"));
    ASSERT_TRUE(file.append(format::kNames, "0123456789", 10));
    EXPECT_EQ(file.chunks(), 1u);
    ASSERT_TRUE(file.give_name("a.tscope"));
    EXPECT_EQ(file.bytes(), content("a.tscope").size());
  }
  const std::string bytes = content("a.tscope");
  ASSERT_EQ(bytes.size(), sizeof(format::FileHeader) + sizeof(format::ChunkHeader) + 16);
  format::FileHeader header;
  memcpy(&header, bytes.data(), sizeof(header));
  EXPECT_EQ(memcmp(header.magic, format::kMagic, sizeof(header.magic)), 0);
  EXPECT_EQ(header.checksum, format::header_checksum(header));
  format::ChunkHeader chunk;
  memcpy(&chunk, bytes.data() + sizeof(header), sizeof(chunk));
  EXPECT_EQ(chunk.type, format::kNames);
  EXPECT_EQ(chunk.length, 10u);
  EXPECT_EQ(chunk.checksum, format::chunk_checksum(chunk, bytes.data() + sizeof(header) + sizeof(chunk)));
  EXPECT_EQ(bytes.substr(bytes.size() - 6), std::string(6, '\0'));
}

TEST_P(DumpFileTest, NeverReplacesAFileAndTriesAgain) {
  make("a.tscope", "mine");
  DumpFile file;
  ASSERT_TRUE(start(file, folder_, "a.tscope"));
  EXPECT_FALSE(file.give_name("a.tscope"));
  EXPECT_EQ(file.error(), EEXIST);
  EXPECT_TRUE(file.give_name("a-2.tscope"));
  EXPECT_EQ(content("a.tscope"), "mine");
}

TEST_P(DumpFileTest, FollowsNoLink) {
  make("victim", "precious");
  ASSERT_EQ(symlink("victim", (folder_ + "/a.tscope").c_str()), 0);
  DumpFile file;
  ASSERT_TRUE(start(file, folder_, "a.tscope"));
  EXPECT_FALSE(file.give_name("a.tscope"));
  EXPECT_EQ(file.error(), EEXIST);
  EXPECT_EQ(content("victim"), "precious");
}

TEST_P(DumpFileTest, LeavesNothingWhenGivenUp) {
  {
    DumpFile file;
    ASSERT_TRUE(start(file, folder_, "a.tscope"));
    ASSERT_TRUE(file.append(format::kNames, "x", 1));
  }
  EXPECT_TRUE(files().empty());
}

TEST_P(DumpFileTest, OfAKilledProcessNothingIsLeft) {
  const pid_t child = fork();
  if (child == 0) {
    DumpFile file;
    const bool written = start(file, folder_, "a.tscope") && file.append(format::kNames, "x", 1);
    _exit(written ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  // A file with a temporary name stays, under a name that is not a dump's.
  EXPECT_EQ(files().size(), GetParam() == DumpFile::Temporary::unnamed ? 0u : 1u);
}

TEST_P(DumpFileTest, SaysWhatFailed) {
  make("plain", "");
  const std::string plain = folder_ + "/plain", missing = folder_ + "/no/such";
  DumpFile file;
  EXPECT_FALSE(start(file, plain, "a.tscope"));
  EXPECT_EQ(file.error(), ENOTDIR);
  EXPECT_STREQ(file.failed(), "open the directory");
  DumpFile deeper;
  EXPECT_FALSE(start(deeper, missing, "a.tscope"));
  EXPECT_EQ(deeper.error(), ENOENT);
}

TEST_P(DumpFileTest, MakesAMissingDirectory) {
  const std::string fresh = folder_ + "/fresh";
  DumpFile file;
  EXPECT_TRUE(start(file, fresh, "a.tscope"));
  EXPECT_TRUE(fs::is_directory(folder_ + "/fresh"));
}

TEST_P(DumpFileTest, AFullDiskIsAnErrorAndLeavesNothing) {
  signal(SIGXFSZ, SIG_DFL);  // it would end this process
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  {
    DumpFile file;
    EXPECT_TRUE(start(file, folder_, "a.tscope"));
    const std::vector<char> large(100'000, 'x');
    EXPECT_FALSE(file.append(format::kNames, large.data(), large.size()));
    EXPECT_EQ(file.error(), EFBIG);
    EXPECT_FALSE(file.append(format::kNames, "x", 1)) << "an error is final";
    EXPECT_FALSE(file.give_name("a.tscope"));
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(files().empty());
}

// A program that closes every descriptor and opens files of its own must not find a dump in them.
TEST_P(DumpFileTest, NeverWritesToADescriptorThatIsNotItsOwn) {
  DumpFile file;
  ASSERT_TRUE(start(file, folder_, "a.tscope"));
  for (int fd = 3; fd < 1024; ++fd) close(fd);  // in the program's table it has a number from 512 on
  std::vector<int> programs_own;
  for (int i = 0; i < 8; ++i) {
    const std::string name = folder_ + "/own" + std::to_string(i);
    programs_own.push_back(open(name.c_str(), O_RDWR | O_CREAT, 0600));
  }
  EXPECT_FALSE(file.append(format::kNames, "x", 1));
  EXPECT_EQ(file.error(), EBADF);
  file.discard();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(content(("own" + std::to_string(i)).c_str()), "");
    EXPECT_EQ(close(programs_own[size_t(i)]), 0) << "and never closes one";
  }
  EXPECT_EQ(files().size(), 8u) << "the temporary file is gone";
}

INSTANTIATE_TEST_SUITE_P(, DumpFileTest, testing::Values(DumpFile::Temporary::unnamed, DumpFile::Temporary::named),
                         [](const auto& info) {
                           return info.param == DumpFile::Temporary::unnamed ? "unnamed" : "named";
                         });

}  // namespace
}  // namespace tensorscope::dump
