// SPDX-License-Identifier: Apache-2.0
#include "support/program_name.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <unistd.h>

#include <initializer_list>
#include <string>

namespace tensorscope {
namespace {

std::string joined(std::initializer_list<const char*> arguments) {
  std::string line;
  for (const char* argument : arguments) line.append(argument).push_back('\0');
  return line;
}
bool is_worker(std::initializer_list<const char*> arguments) {
  const std::string line = joined(arguments);
  return is_helper_process(line.data(), line.size());
}

std::string name_of(const char* executable, std::initializer_list<const char*> arguments) {
  const std::string line = joined(arguments);
  char out[NAME_MAX + 1];
  program_name(executable, line.data(), line.size(), out, sizeof(out));
  return out;
}
std::string python(std::initializer_list<const char*> arguments) { return name_of("/usr/bin/python3.11", arguments); }

TEST(ProgramName, IsTheScript) {
  EXPECT_EQ(python({"python", "train.py"}), "train");
  EXPECT_EQ(python({"python", "/home/me/train.py", "--lr", "0.1"}), "train");
  EXPECT_EQ(python({"python", "/venv/bin/torchrun", "train.py"}), "torchrun");
  EXPECT_EQ(python({"python", "folder/"}), "folder");
}

TEST(ProgramName, SkipsTheInterpretersOptions) {
  EXPECT_EQ(python({"python", "-u", "-X", "dev", "-W", "ignore", "train.py", "-m", "x"}), "train");
  EXPECT_EQ(python({"python", "-Xdev", "-Wignore", "-OO", "train.py"}), "train");
  EXPECT_EQ(python({"python", "--check-hash-based-pycs", "always", "train.py"}), "train");
}

TEST(ProgramName, IsTheModule) {
  EXPECT_EQ(python({"python", "-m", "package.train", "-c", "x"}), "package.train");
  EXPECT_EQ(python({"python", "-um", "package.train"}), "package.train");
  EXPECT_EQ(python({"python", "-mtrain"}), "train");
}

TEST(ProgramName, IsPythonWhereThereIsNoScript) {
  EXPECT_EQ(python({"python", "-c", "import x"}), "python");
  EXPECT_EQ(python({"python", "-Bc", "import x", "train.py"}), "python");
  EXPECT_EQ(python({"python", "-"}), "python");
  EXPECT_EQ(python({"python"}), "python");
  EXPECT_EQ(python({"python", "."}), "python");
  EXPECT_EQ(python({"python", "-m"}), "python");
}

TEST(ProgramName, IsTheBinaryOtherwise) {
  EXPECT_EQ(name_of("/opt/serve", {"serve", "model.py"}), "serve");
  EXPECT_EQ(name_of("/opt/my server", {"x"}), "my_server");
  EXPECT_EQ(name_of("", {}), "program");
}

TEST(Worker, IsKnownByItsCommandLine) {
  EXPECT_TRUE(is_worker({"python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)",
                         "--multiprocessing-fork"}));
  EXPECT_TRUE(is_worker({"python", "-s", "-c", "from multiprocessing.forkserver import main; main(5, 6, [], **{})"}));
  EXPECT_TRUE(is_worker({"python", "-m", "joblib.externals.loky.backend.popen_loky_posix", "--pipe", "9"}));
  EXPECT_FALSE(is_worker({"python", "train.py", "--fork"}));
  EXPECT_FALSE(is_worker({"python", "-c", "import multiprocessing"}));
  EXPECT_FALSE(is_worker({}));
}

TEST(Employer, IsTheNearestProcessThatIsNoWorker) {
  char out[NAME_MAX + 1] = "python";
  char executable[PATH_MAX] = "";
  ASSERT_GT(readlink("/proc/self/exe", executable, sizeof(executable) - 1), 0);
  name_of_launching_program(uint32_t(getpid()), executable, out, sizeof(out));
  EXPECT_STREQ(out, "support_program_name_test");
}

TEST(Employer, ThatHasEndedLeavesTheNameAsItWas) {
  char out[NAME_MAX + 1] = "python";
  name_of_launching_program(uint32_t(getpid()), "/usr/bin/python3", out,
                            sizeof(out));  // an orphan's new parent: some program
  EXPECT_STREQ(out, "python");
  name_of_launching_program(1, "/usr/bin/python3", out, sizeof(out));
  EXPECT_STREQ(out, "python");
  name_of_launching_program(0x7fffffff, "/usr/bin/python3", out, sizeof(out));
  EXPECT_STREQ(out, "python");
}

}  // namespace
}  // namespace tensorscope
