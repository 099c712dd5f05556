// SPDX-License-Identifier: Apache-2.0
#include "dump/dump_name.h"

#include <gtest/gtest.h>
#include <string.h>

#include <string>

namespace tensorscope::dump {
namespace {

ProcessInfo train(int rank = -1) {
  ProcessInfo process;
  process.pid = 4242;
  process.rank = rank;
  strcpy(process.program, "train");
  strcpy(process.host, "node7");
  return process;
}

std::string name_of(const char* pattern, const ProcessInfo& process, const DumpName& name, unsigned attempt = 1) {
  char out[NAME_MAX + 1];
  dump_name(pattern, process, name, attempt, out);
  return out;
}

TEST(DumpName, IsProgramPidAndNumberByDefault) {
  EXPECT_EQ(name_of(nullptr, train(), {3, "", "signal"}), "train.4242.3.tscope");
  EXPECT_EQ(name_of("", train(), {3, "", "signal"}), "train.4242.3.tscope");
}

TEST(DumpName, AtExitSaysSo) { EXPECT_EQ(name_of(nullptr, train(), {3, "exit", "exit"}), "train.4242.exit.tscope"); }

TEST(DumpName, HasTheRankWhereALauncherSetOne) {
  EXPECT_EQ(name_of(nullptr, train(3), {1, "", "signal"}), "train.rank3.4242.1.tscope");
}

TEST(DumpName, FollowsATemplate) {
  EXPECT_EQ(name_of("{host}-{rank}-{kind}-{n}", train(), {2, "", "call"}), "node7-0-call-2.tscope");
  EXPECT_EQ(name_of("dump-{n}.tscope", train(), {2, "", "call"}), "dump-2.tscope");
  EXPECT_EQ(name_of("{nonsense}{", train(), {2, "", "call"}), "{nonsense}{.tscope");
}

TEST(DumpName, NeverLeavesTheDirectory) {
  EXPECT_EQ(name_of("../../etc/{program}", train(), {1, "", "signal"}), ".._.._etc_train.tscope");
}

TEST(DumpName, SecondAttemptsAreCounted) {
  EXPECT_EQ(name_of(nullptr, train(), {1, "", "signal"}, 2), "train.4242.1-2.tscope");
  EXPECT_EQ(name_of("x.tscope", train(), {1, "", "signal"}, 12), "x-12.tscope");
}

TEST(DumpName, CutsTheProgramWhereTheNameWouldBeTooLong) {
  ProcessInfo process = train(1);
  memset(process.program, 'p', sizeof(process.program) - 1);
  const std::string name = name_of(nullptr, process, {17, "", "signal"}, 3);
  EXPECT_LE(name.size() + strlen(".") + strlen(".tmp-12345678"), size_t(NAME_MAX));
  EXPECT_NE(name.find("ppp.rank1.4242.17-3.tscope"), std::string::npos) << name;
  const std::string fixed = name_of(std::string(400, 'x').c_str(), process, {1, "", "signal"});
  EXPECT_LE(fixed.size() + strlen(".") + strlen(".tmp-12345678"), size_t(NAME_MAX));
  EXPECT_EQ(fixed.substr(fixed.size() - 7), ".tscope");
}

}  // namespace
}  // namespace tensorscope::dump
