// SPDX-License-Identifier: Apache-2.0
#include "process/mapped_files.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tensorscope::process {
namespace {

namespace fs = std::filesystem;

Dl_info libc() {
  Dl_info found = {};
  EXPECT_NE(dladdr(reinterpret_cast<void*>(&getpid), &found), 0);
  return found;
}

// A copy of the C library whose file this process has mapped, not loaded, as it may map any file.
class MappedCopy {
 public:
  MappedCopy() {
    std::string pattern = testing::TempDir() + "/mapped_files_XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ifstream file(libc().dli_fname, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  ~MappedCopy() {
    munmap(begin_, bytes.size());
    fs::remove_all(folder_);
  }

  Elf64_Ehdr* header() { return reinterpret_cast<Elf64_Ehdr*>(bytes.data()); }
  Elf64_Shdr& symbols() {
    auto* section = reinterpret_cast<Elf64_Shdr*>(bytes.data() + header()->e_shoff);
    while (section->sh_type != SHT_DYNSYM) ++section;
    return *section;
  }
  uint64_t map() {
    const fs::path path = folder_ / "libcopy.so.6";
    std::ofstream(path, std::ios::binary) << bytes;
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    begin_ = mmap(nullptr, bytes.size(), PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    EXPECT_NE(begin_, MAP_FAILED);
    return reinterpret_cast<uint64_t>(begin_);
  }
  static uint64_t find(const char* name) { return MappedFiles(getpid()).function({"libcopy.so"}, name); }

  std::string bytes;

 private:
  fs::path folder_;
  void* begin_ = nullptr;
};

TEST(MappedFiles, AFunctionIsWhereTheLoaderPutIt) {
  const MappedFiles files(getpid());
  EXPECT_TRUE(files.has({"no such library", "libc.so"}));
  EXPECT_FALSE(files.has({"no such library"}));
  EXPECT_EQ(files.function({"no such library", "libc.so"}, "getpid"),
            reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "getpid")));
  EXPECT_EQ(files.function({"libc.so"}, "no such function"), 0u);
}

TEST(MappedFiles, CodeIsWhereTheLoaderPutIt) {
  const auto* own = reinterpret_cast<const char*>(dlsym(RTLD_DEFAULT, "qsort_r"));
  const std::string bytes(own, 64);
  const MappedFiles files(getpid());
  EXPECT_EQ(files.code_with({"libc.so"}, bytes), reinterpret_cast<uint64_t>(own));
  EXPECT_EQ(files.code_with({"no such library"}, bytes), 0u);
  EXPECT_EQ(files.code_with({"libc.so"}, "these bytes are in no code of the C library"), 0u);
}

TEST(MappedFiles, AFileThatIsMappedAndNotLoadedCounts) {
  MappedCopy copy;
  const uint64_t begin = copy.map();
  const uint64_t offset = reinterpret_cast<uint64_t>(&getpid) - reinterpret_cast<uint64_t>(libc().dli_fbase);
  EXPECT_EQ(MappedCopy::find("getpid") - begin, offset);
}

// Any file that the other process has mapped is read, by a user who may be root.
TEST(MappedFiles, DamagedFilesHaveNoFunctions) {
  {
    MappedCopy copy;
    copy.symbols().sh_entsize = 0;
    copy.map();
    MappedCopy::find("getpid");
  }
  {
    MappedCopy copy;
    copy.symbols().sh_offset = copy.bytes.size() - 8;
    copy.map();
    EXPECT_EQ(MappedCopy::find("getpid"), 0u);
  }
  {
    MappedCopy copy;
    copy.symbols().sh_link = 60000;
    copy.map();
    EXPECT_EQ(MappedCopy::find("getpid"), 0u);
  }
  {
    MappedCopy copy;
    copy.header()->e_shoff = ~0ull;
    copy.map();
    EXPECT_EQ(MappedCopy::find("getpid"), 0u);
  }
  {
    MappedCopy copy;
    copy.bytes.replace(0, 4, "text");
    copy.map();
    EXPECT_EQ(MappedCopy::find("getpid"), 0u);
    EXPECT_EQ(MappedFiles(getpid()).code_with({"libcopy.so"}, "bytes"), 0u);
  }
}

TEST(MappedFiles, AProcessThatHasEndedHasNone) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const MappedFiles files(child);
  EXPECT_TRUE(files.empty());
  EXPECT_EQ(files.function({"libc.so"}, "getpid"), 0u);
}

}  // namespace
}  // namespace tensorscope::process
