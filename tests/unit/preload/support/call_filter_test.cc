// SPDX-License-Identifier: Apache-2.0
// A filter of system calls that comes after the start is seen, and one that was there is none. Filters cannot be taken
// away, so each case is a process of its own.
#include "support/call_filter.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tensorscope {
namespace {

// One that allows everything.
bool filter_calls() {
  sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  const sock_fprog program = {1, &allow};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Whether the own memory is read, or the attempt is left out with the error that says why.
enum class Memory { read, left_out, other };
Memory own_memory() {
  int from = 42, to = 0;
  const iovec source = {&from, sizeof from};
  errno = 0;
  const ssize_t read = read_own_memory({&to, sizeof to}, &source, 1);
  if (read == ssize_t(sizeof to) && to == 42) return Memory::read;
  return read == -1 && errno == EPERM && to == 0 ? Memory::left_out : Memory::other;
}

struct Seen {
  bool calls, files;
  Memory memory;
  bool operator==(const Seen&) const = default;
};

constexpr int kNoFilters = 77;

// What the process sees where the filter comes before the first, the second or the third of these moments: the
// start, activation, the work.
void expect_seen(int filter_before, const Seen& expected) {
  if (prctl(PR_GET_SECCOMP) > 0) GTEST_SKIP() << "under a filter from the start, as in a container";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto moment = [&](int number) {
      if (filter_before == number && !filter_calls()) _exit(kNoFilters);
    };
    moment(0);
    remember_call_filter();
    moment(1);
    remember_filter_of_files();
    moment(2);
    errno = ERANGE;
    const bool calls = calls_are_filtered(), files = files_are_filtered();
    _exit(errno != ERANGE ? 3 : Seen{calls, files, own_memory()} == expected ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoFilters) GTEST_SKIP() << "no filters of system calls here";
  EXPECT_EQ(WEXITSTATUS(status), 0) << filter_before;
}

TEST(CallFilter, NoneIsSeenWhereThereIsNone) { expect_seen(-1, {false, false, Memory::read}); }

TEST(CallFilter, OneThatWasThereFromTheStartIsNone) { expect_seen(0, {false, false, Memory::read}); }

TEST(CallFilter, OneBeforeActivationForbidsRareCallsAndNoFiles) { expect_seen(1, {true, false, Memory::left_out}); }

TEST(CallFilter, OneAfterActivationForbidsFilesToo) { expect_seen(2, {true, true, Memory::left_out}); }

}  // namespace
}  // namespace tensorscope
