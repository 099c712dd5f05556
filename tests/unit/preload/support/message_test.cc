// SPDX-License-Identifier: Apache-2.0
// Lines on standard error and in the log, in programs that close, replace or break descriptors.
#include "support/message.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "support/enough_memory.h"
#include "support/log.h"
#include "support/options.h"

namespace tensorscope {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class MessageTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tensorscope_message_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    run_or_abandon_on_oom(
        [] {});  // AddressSanitizer warns of the change of stacks once a process: not in a child's output
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }

  // Runs `body` in a child whose standard error is a file; returns what the file holds. The child must end by itself.
  std::string in_child(const std::function<void(const std::string& folder)>& body) {
    const pid_t child = fork();
    if (child == 0) {
      const int file = open(path("stderr").c_str(), O_WRONLY | O_CREAT, 0600);
      dup2(file, STDERR_FILENO);
      close(file);
      remember_standard_error();
      body(folder_);
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    return contents(path("stderr"));
  }

 private:
  std::string folder_;
};

TEST_F(MessageTest, IsOneLineWithOurName) {
  EXPECT_EQ(in_child([](const std::string&) { say("%d tensors\nand a \x1b", 3); }), "tensorscope: 3 tensors?and a ?\n");
}

TEST_F(MessageTest, IsCutWhereItIsTooLong) {
  const std::string said = in_child([](const std::string&) { say("%s", std::string(5000, 'x').c_str()); });
  EXPECT_EQ(said.size(), 1024u);
  EXPECT_THAT(said, EndsWith("x\n"));
}

TEST_F(MessageTest, DoesNotGoIntoAFileThatTookTheDescriptor) {
  in_child([](const std::string& folder) {
    close(STDERR_FILENO);
    if (open((folder + "/data").c_str(), O_WRONLY | O_CREAT, 0600) != STDERR_FILENO) _exit(1);
    say("hello");
  });
  EXPECT_EQ(contents(path("data")), "");
}

TEST_F(MessageTest, DoesNotGoIntoAFileThatTookADescriptorThatWasClosedAtTheStart) {
  in_child([](const std::string& folder) {
    close(STDERR_FILENO);
    remember_closed_standard_error();
    if (open((folder + "/data").c_str(), O_WRONLY | O_CREAT, 0600) != STDERR_FILENO) _exit(1);
    parse_options();  // the profiler starts
    say("hello");
  });
  EXPECT_EQ(contents(path("data")), "");
}

TEST_F(MessageTest, GoesWhereTheProgramDirectsItBeforeTheProfilerStarts) {
  in_child([](const std::string& folder) {
    remember_closed_standard_error();
    const int file = open((folder + "/log").c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, STDERR_FILENO);
    close(file);
    parse_options();
    say("hello");
  });
  EXPECT_EQ(contents(path("log")), "tensorscope: hello\n");
}

TEST_F(MessageTest, IsNothingWhereTheDescriptorIsClosed) {
  EXPECT_EQ(in_child([](const std::string&) {
              close(STDERR_FILENO);
              errno = 77;
              say("hello");
              if (errno != 77) _exit(2);
            }),
            "");
}

TEST_F(MessageTest, NeverRaisesSigpipeInTheProgram) {
  in_child([](const std::string&) {
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    dup2(ends[1], STDERR_FILENO);
    remember_standard_error();
    close(ends[0]);
    say("nobody reads this");
  });
}

TEST_F(MessageTest, DoesNotWaitForAReaderThatIsAsleep) {
  in_child([](const std::string&) {
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    dup2(ends[1], STDERR_FILENO);
    remember_standard_error();
    alarm(20);
    for (int i = 0; i < 80; ++i) say("%s", std::string(1000, 'x').c_str());
  });
}

TEST_F(MessageTest, LogLinesAreAppendedAlsoAfterAllDescriptorsWereClosed) {
  setenv("TENSORSCOPE_LOG", path("log").c_str(), 1);
  in_child([](const std::string&) {
    parse_options();
    start_log();
    log(LogLevel::info, "torch {} found", "2.13.0");
    write_log();
    for (int i = 0; i < 100; ++i) close(i);
    log(LogLevel::warning, "{} stacks", 12);
    write_log();
  });
  unsetenv("TENSORSCOPE_LOG");
  const std::string lines = contents(path("log"));
  EXPECT_THAT(lines, HasSubstr(" info torch 2.13.0 found\n"));
  EXPECT_THAT(lines, EndsWith(" warning 12 stacks\n"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
}

TEST_F(MessageTest, TheLogCanBeStandardError) {
  setenv("TENSORSCOPE_LOG", "-", 1);
  const std::string said = in_child([](const std::string&) {
    parse_options();
    start_log();
    say("said");
    log(LogLevel::error, "wrong");
    write_log();
  });
  unsetenv("TENSORSCOPE_LOG");
  EXPECT_THAT(said, EndsWith(" error wrong\n"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2);  // what is said is there once
}

TEST_F(MessageTest, ALogThatCannotBeWrittenIsOneLine) {
  setenv("TENSORSCOPE_LOG", path("no/such/folder").c_str(), 1);
  const std::string said = in_child([](const std::string&) {
    parse_options();
    start_log();
    for (const char* text : {"one", "two"}) {
      log(LogLevel::error, "{}", text);
      write_log();
    }
  });
  unsetenv("TENSORSCOPE_LOG");
  EXPECT_EQ(said, "tensorscope: TENSORSCOPE_LOG=" + path("no/such/folder") +
                      " cannot be written: No such file or directory; there is no log.\n");
}

TEST_F(MessageTest, WithoutALogNothingIsFormatted) {
  EXPECT_TRUE(log_is_on());  // options are not known yet
  parse_options();
  start_log();
  EXPECT_FALSE(log_is_on());
  log(LogLevel::error, "nowhere");
}

}  // namespace
}  // namespace tensorscope
