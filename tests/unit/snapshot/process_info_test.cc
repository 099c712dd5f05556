#include "snapshot/process_info.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <initializer_list>
#include <string>

#include "support/clock.h"

namespace tensorscope::snapshot {
namespace {

std::string name_of(const char* executable, std::initializer_list<const char*> arguments) {
  std::string line;
  for (const char* argument : arguments) line.append(argument).push_back('\0');
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

TEST(ProcessInfo, KnowsThisProcess) {
  start_process_info();
  const ProcessInfo& p = process_info();
  EXPECT_EQ(p.pid, uint32_t(getpid()));
  EXPECT_EQ(p.parent_pid, uint32_t(getppid()));
  EXPECT_NE(std::string(p.executable).find("snapshot_process_info_test"), std::string::npos);
  EXPECT_NE(std::string(p.command_line).find("snapshot_process_info_test"), std::string::npos);
  EXPECT_EQ(std::string(p.run_id).size(), 32u);
  EXPECT_GT(p.start_ns, 0u);
  EXPECT_LE(p.start_ns, monotonic_ns());
}

TEST(ProcessInfo, AForkedChildIsAnotherRun) {
  start_process_info();
  const ProcessInfo before = process_info();
  process_info_after_fork_in_child();
  EXPECT_EQ(process_info().forked_from, before.pid);
  EXPECT_STREQ(process_info().program, before.program);
  EXPECT_STRNE(process_info().run_id, before.run_id);
}

}  // namespace
}  // namespace tensorscope::snapshot
