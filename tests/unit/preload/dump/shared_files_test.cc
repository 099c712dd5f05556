// SPDX-License-Identifier: Apache-2.0
// Who holds files of a file system, from lines like those of /proc, and of this process as it is.
#include "dump/shared_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "support/pages.h"

namespace tensorscope::dump {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class FileHoldersTest : public testing::Test {
 protected:
  void SetUp() override {
    memset(static_cast<void*>(files_.get()), 0, sizeof(FileHolders));  // as new pages are
    files_->begin(makedev(0, 0x19));
  }
  void maps(uint32_t pid, const std::string& line) {
    files_->begin_process(pid);
    files_->add_mapping(line);
  }
  std::unique_ptr<FileHolders> files_ = std::make_unique<FileHolders>();
};

TEST_F(FileHoldersTest, AFileCountsOnceForEachWhoHoldsIt) {
  files_->add_file(7, 4096, "torch_1_2_0");
  maps(100, "7f0000000000-7f0000002000 rw-s 00000000 00:19 7    /dev/shm/torch_1_2_0");
  files_->add_mapping("7f0000010000-7f0000012000 rw-s 00000000 00:19 7    /dev/shm/torch_1_2_0");
  files_->add_open(7, 4096, false);
  EXPECT_EQ(files_->process().files, 1u);
  EXPECT_EQ(files_->process().bytes, 4096u);  // what it has, not what is mapped of it
  EXPECT_EQ(files_->process().deleted, 0u);
  maps(101, "7f0000000000-7f0000002000 rw-s 00000000 00:19 7    /dev/shm/torch_1_2_0");
  EXPECT_EQ(files_->process().pid, 101u);
  EXPECT_EQ(files_->process().bytes, 4096u);
  files_->begin_process(102);  // holds nothing
  EXPECT_EQ(files_->process().files, 0u);
  EXPECT_EQ(files_->unheld().files, 0u);
}

TEST_F(FileHoldersTest, ARemovedFileIsAsLargeAsWhatIsMapped) {
  maps(100, "7f0000000000-7f0000100000 rw-s 00000000 00:19 8    /dev/shm/torch_1_2_0 (deleted)");
  files_->add_mapping("7f0000100000-7f0000200000 rw-s 00100000 00:19 8    /dev/shm/torch_1_2_0 (deleted)");
  EXPECT_EQ(files_->process().bytes, 2 * kMiB);
  EXPECT_EQ(files_->process().deleted, 2 * kMiB);
  files_->add_open(8, kMiB, true);  // its descriptor tells it
  EXPECT_EQ(files_->process().deleted, kMiB);
}

TEST_F(FileHoldersTest, OtherFileSystemsAndOtherLinesAreNotCounted) {
  maps(100, "7f0000000000-7f0000100000 r-xp 00000000 fe:01 8    /usr/lib/libc.so.6");
  files_->add_mapping("7f0000000000-7f0000100000 rw-p 00000000 00:00 0 ");
  files_->add_mapping("7f0000000000-7f0000100000 rw-s 00000000 00:1a 9    /memfd:x (deleted)");
  files_->add_mapping("");
  files_->add_mapping("no mapping at all");
  EXPECT_EQ(files_->process().files, 0u);
}

TEST_F(FileHoldersTest, WhatNobodyHoldsHasTheNameOfTheLargest) {
  files_->add_file(1, 10, "psm_small");
  files_->add_file(2, 30, "psm_large");
  files_->add_file(3, 0, "sem.empty");
  files_->add_file(4, 500, "held");
  maps(100, "7f0000000000-7f0000002000 rw-s 00000000 00:19 4    /dev/shm/held");
  const SharedHolder unheld = files_->unheld();
  EXPECT_EQ(unheld.pid, 0u);
  EXPECT_EQ(unheld.files, 2u);
  EXPECT_EQ(unheld.bytes, 40u);
  EXPECT_STREQ(unheld.name, "psm_large");
}

TEST(SharedFiles, ThisProcessIsTheFirst) {
  const std::string name = "/tensorscope-test." + std::to_string(getpid());
  const uint64_t before = shared_bytes_of_this_process();
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0) GTEST_SKIP() << "no shared memory here";
  shm_unlink(name.c_str());
  ASSERT_EQ(posix_fallocate(file, 0, kMiB), 0);
  EXPECT_EQ(shared_bytes_of_this_process(), before + kMiB);  // an open file that was removed
  void* const mapped = mmap(nullptr, kMiB, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  close(file);
  EXPECT_EQ(shared_bytes_of_this_process(), before + kMiB);  // and one that is mapped

  SharedFiles found;
  Failure failure;
  failure.limit = SystemLimit::shared_memory;
  look_at_shared_files(&failure, found);
  ASSERT_TRUE(found.looked) << found.detail;
  ASSERT_GE(found.count, 1u);
  EXPECT_EQ(found.holders[0].pid, uint32_t(getpid()));
  EXPECT_GE(found.holders[0].deleted, kMiB);
  EXPECT_GE(found.space.limit, found.space.left);
  for (size_t i = 1; i < found.count; ++i) EXPECT_NE(found.holders[i].pid, uint32_t(getpid()));
  munmap(mapped, kMiB);
}

}  // namespace
}  // namespace tensorscope::dump
