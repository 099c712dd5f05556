// SPDX-License-Identifier: Apache-2.0
// snapshot against processes that look, from outside, as if tensorscope were in them, or nearly.
// Covers: analyzer/process/target_process.cc
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "command_fixture.h"
#include "process/target_process.h"
#include "support/under_qemu.h"

namespace tensorscope::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

volatile sig_atomic_t g_asked = 0;
void note_signal(int) { g_asked = 1; }

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

DumpBuilder dump_of(pid_t pid, uint64_t dump_ns) {
  DumpBuilder builder;
  builder.pid = uint32_t(pid);
  builder.start_ns = dump_ns - 1;
  builder.dump_ns = dump_ns;
  return builder;
}

struct Looks {
  bool preload = true, torch = true, listens = true, answers = true, dies = false;
};

class SnapshotTest : public CommandTest {
 protected:
  void TearDown() override {
    for (pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    CommandTest::TearDown();
  }

  // A child that sleeps until it is asked, then does as a profiled process would.
  pid_t start(Looks looks) {
    for (const char* name : {"libtensorscope.so", "libc10.so"}) std::ofstream(name) << "x";
    int ready[2];
    if (pipe(ready) != 0) return -1;
    pid_t child = fork();
    if (child == 0) {
      if (looks.preload) map("libtensorscope.so");
      if (looks.torch) map("libc10.so");
      if (looks.listens) signal(SIGUSR1, note_signal);
      [[maybe_unused]] ssize_t told = write(ready[1], "r", 1);
      while (g_asked == 0) usleep(1000);
      if (looks.dies) _exit(0);
      if (looks.answers) {
        dump_of(getpid() + 1, now_ns()).write("other.tscope");  // somebody else's
        dump_of(getpid(), 7).write("earlier.tscope");           // was under way when the request came
        usleep(150'000);                                        // long enough to be looked at
        dump_of(getpid(), now_ns()).write(".temporary");
        rename(".temporary", "train.2.tscope");
      }
      while (true) pause();
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    children_.push_back(child);
    return child;
  }

  static bool alive(pid_t child) { return waitpid(child, nullptr, WNOHANG) == 0; }
  Result ask(pid_t child, const std::string& timeout = "60s") {
    return run({"snapshot", std::to_string(child), "--timeout", timeout});
  }

 private:
  static void map(const char* name) {
    int file = open(name, O_RDONLY);
    if (mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED) _exit(1);
  }
  std::vector<pid_t> children_;
};

TEST_F(SnapshotTest, TheAnswerIsFound) {
  pid_t child = start({});
  dump_of(child, 5).write("train.1.tscope");  // an older one of the same process
  Result result = ask(child);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, (directory_ / "train.2.tscope").string() + "\n");
  EXPECT_THAT(result.err, HasSubstr("has no live tensors"));
}

TEST_F(SnapshotTest, AProcessWithoutItIsLeftAlone) {
  if (under_qemu()) GTEST_SKIP() << kOwnHandlers;
  for (Looks looks :
       {Looks{.preload = false, .listens = false}, Looks{.torch = false, .listens = false}, Looks{.listens = false}}) {
    pid_t child = start(looks);
    Result result = ask(child);
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, EndsWith("Nothing was sent.\n"));
    EXPECT_TRUE(alive(child));
  }
}

TEST_F(SnapshotTest, EachReasonIsSaid) {
  if (under_qemu()) GTEST_SKIP() << kOwnHandlers;
  EXPECT_THAT(ask(start({.preload = false})).err, HasSubstr("does not run under tensorscope"));
  EXPECT_THAT(ask(start({.torch = false})).err, HasSubstr("has not loaded torch"));
  EXPECT_THAT(ask(start({.listens = false})).err, HasSubstr("does not handle signal 10"));
  pid_t gone = start({});
  kill(gone, SIGKILL);
  waitpid(gone, nullptr, 0);
  EXPECT_THAT(ask(gone).err, HasSubstr("no such process"));
}

TEST_F(SnapshotTest, ADumpThatDoesNotCome) {
  Result result = ask(start({.answers = false}), "100ms");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("wrote no dump"));
  result = ask(start({.dies = true}));
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("ended before it wrote the dump"));
}

TEST(SignalOf, NamesAndNumbers) {
  using process::signal_of;
  EXPECT_EQ(process::signal_of(""), SIGUSR1);
  EXPECT_EQ(process::signal_of("SIGUSR2"), SIGUSR2);
  EXPECT_EQ(process::signal_of("usr2"), SIGUSR2);
  EXPECT_EQ(process::signal_of("12"), 12);
  EXPECT_EQ(process::signal_of("off"), 0);
  EXPECT_EQ(process::signal_of("0"), 0);
  EXPECT_EQ(process::signal_of("nonsense"), SIGUSR1);
  EXPECT_EQ(process::signal_of("9999999999999999999"), SIGUSR1);
}

}  // namespace
}  // namespace tensorscope::testing
