// SPDX-License-Identifier: Apache-2.0
#include "support/process_info.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "support/clock.h"

namespace tensorscope {
namespace {

TEST(ProcessInfo, KnowsThisProcess) {
  start_process_info();
  const ProcessInfo& p = process_info();
  EXPECT_EQ(p.pid, uint32_t(getpid()));
  EXPECT_EQ(p.parent_pid, uint32_t(getppid()));
  EXPECT_NE(std::string(p.executable).find("support_process_info_test"), std::string::npos);
  EXPECT_NE(std::string(p.command_line).find("support_process_info_test"), std::string::npos);
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
}  // namespace tensorscope
