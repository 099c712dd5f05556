// SPDX-License-Identifier: Apache-2.0
#include "dump/appended_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "support/process_info.h"
#include "tensorscope/recording_format.h"

namespace tensorscope::dump {
namespace {

// A program that has taken back what Python does about the signal, and a thread that blocks nothing.
TEST(AppendedFile, ALimitOnTheSizeOfFilesEndsTheFileAndNotTheProgram) {
  start_process_info();
  char folder[] = "/tmp/tensorscope_appended_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  signal(SIGXFSZ, SIG_DFL);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const FileKind kind = {".recording", format::kRecordingMagic, 1, 0};
  AppendedFile file(kind);
  ASSERT_TRUE(file.create(folder));
  ASSERT_TRUE(file.append(1, "12345678", 8));
  const uint64_t whole = file.bytes();
  const rlimit small = {4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::vector<char> large(100'000, 'x');
  EXPECT_FALSE(file.append(1, large.data(), large.size()));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(file.error(), EFBIG);
  struct stat status;
  ASSERT_EQ(stat(file.path(), &status), 0);
  EXPECT_EQ(uint64_t(status.st_size), whole);  // cut to its last whole chunk
  sigset_t waiting;
  sigpending(&waiting);
  EXPECT_EQ(sigismember(&waiting, SIGXFSZ), 0);
  system((std::string("rm -r ") + folder).c_str());
}

}  // namespace
}  // namespace tensorscope::dump
