// run, as a program of its own: what it hands to the program that it becomes.
// Covers: analyzer/cli/preload_library.cc
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "command_fixture.h"

namespace tensorscope::testing {
namespace {

using ::testing::HasSubstr;

// Standard output and error of a shell command line in which $T is the tensorscope program.
Result shell(const std::string& command) {
  setenv("T", TENSORSCOPE_PROGRAM, 1);
  setenv("TENSORSCOPE_LIB", EMPTY_LIBRARY, 1);
  FILE* pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  Result result;
  std::array<char, 4096> buffer;
  for (size_t got; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) result.out.append(buffer.data(), got);
  int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return result;
}

class RunTest : public CommandTest {};

TEST_F(RunTest, TheProgramGetsThePreloadAndTheOptions) {
  Result result = shell(
      "env -u TENSORSCOPE_DIR $T run --no-native --signal USR2 --exit never --name x.tscope --quiet -- sh -c "
      "'echo $LD_PRELOAD; echo $TENSORSCOPE_NATIVE $TENSORSCOPE_SIGNAL $TENSORSCOPE_EXIT $TENSORSCOPE_NAME "
      "$TENSORSCOPE_QUIET; echo $TENSORSCOPE_DIR'");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, std::string(EMPTY_LIBRARY) + "\n0 USR2 never x.tscope 1\n" + directory_.string() + "\n");
}

TEST_F(RunTest, WhatIsAlreadyPreloadedStays) {
  Result result = shell("LD_PRELOAD=" EMPTY_LIBRARY_2 " $T run -- sh -c 'echo $LD_PRELOAD'");
  EXPECT_EQ(result.out, EMPTY_LIBRARY ":" EMPTY_LIBRARY_2 "\n");
  result = shell("$T run -- $T run -- sh -c 'echo $LD_PRELOAD'");
  EXPECT_EQ(result.out, EMPTY_LIBRARY "\n");
}

TEST_F(RunTest, DirIsAbsoluteForTheProgram) {
  std::filesystem::create_directory("dumps");
  EXPECT_EQ(shell("$T run --dir dumps -- sh -c 'echo $TENSORSCOPE_DIR'").out, (directory_ / "dumps").string() + "\n");
  Result result = shell("$T run --dir nowhere -- true");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, HasSubstr("nowhere"));
}

TEST_F(RunTest, ExitStatusSignalAndProcessIdAreTheProgramsOwn) {
  EXPECT_EQ(shell("exec $T run -- sh -c 'exit 7'").status, 7);
  EXPECT_EQ(shell("exec $T run -- sh -c 'kill -TERM $$'").status, 1000 + 15);
  EXPECT_EQ(shell("exec $T run true").status, 0);
  Result result = shell("echo $$; exec $T run -- sh -c 'echo $$'");
  size_t line = result.out.find('\n');
  EXPECT_EQ(result.out.substr(0, line + 1), result.out.substr(line + 1));
}

TEST_F(RunTest, ArgumentsArePassedOnUntouched) {
  EXPECT_EQ(shell("$T run -- echo --help -- --dir '' 'a  b'").out, "--help -- --dir  a  b\n");
  EXPECT_EQ(shell("$T run --quiet echo --quiet -x").out, "--quiet -x\n");
}

TEST_F(RunTest, OptionsThatAllVerbsShareMayStandBeforeAndAfterRun) {
  for (const char* line : {"$T --color never run -- echo a --color", "$T --colour=never run -- echo a --color",
                           "$T --color never run echo a --color", "$T run --color never -- echo a --color",
                           "$T run --colour=never --quiet echo a --color"}) {
    Result result = shell(line);
    EXPECT_EQ(result.status, 0) << line;
    EXPECT_EQ(result.out, "a --color\n") << line;
  }
}

TEST_F(RunTest, TheProgramsOwnOptionsThatLookLikeOursAreItsOwn) {
  for (const char* begin : {"$T run ", "$T run -- ", "$T --color never run ", "$T run --name=x.tscope --exit never "}) {
    const std::string line = std::string(begin) + "echo run --color sometimes --dir /no/such --exit --version --help";
    EXPECT_EQ(shell(line).out, "run --color sometimes --dir /no/such --exit --version --help\n") << line;
  }
  for (const char* mistake : {"$T --color sometimes run -- echo a", "$T run --frobnicate -- echo a", "$T --color never",
                              "$T --color never run", "$T --color never -- run -- echo a"}) {
    EXPECT_EQ(shell(mistake).status, 2) << mistake;
  }
}

TEST_F(RunTest, WhatCannotBeStarted) {
  Result result = shell("$T run -- no-such-program");
  EXPECT_EQ(result.status, 127);
  EXPECT_THAT(result.out, HasSubstr("tensorscope: program 'no-such-program' not found."));
  std::ofstream("plain") << "text";
  EXPECT_EQ(shell("$T run -- ./plain").status, 126);
  result = shell("TENSORSCOPE_LIB=/no/such/file $T run -- true");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, HasSubstr("/no/such/file"));
}

TEST_F(RunTest, AReaderThatGoesAwayIsNoError) {
  training_dump(3).write("a.tscope");
  for (const char* command : {"$T list a.tscope --top 0", "$T export a.tscope --format json"}) {
    EXPECT_EQ(shell(std::string(command) + " | head -n 1 > /dev/null").out, "") << command;
    EXPECT_EQ(shell("trap '' PIPE; " + std::string(command) + " | true").out, "") << command;
  }
}

TEST_F(RunTest, AFullDiskIsSaid) {
  training_dump(1).write("a.tscope");
  for (const char* command : {"$T report a.tscope", "$T export a.tscope --format json"}) {
    Result result = shell(std::string(command) + " 2>&1 >/dev/full");
    EXPECT_EQ(result.status, 2) << command;
    EXPECT_THAT(result.out, HasSubstr("cannot write standard output")) << command;
  }
}

TEST_F(RunTest, WidthAndColourComeFromTheEnvironment) {
  training_dump(1).write("a.tscope");
  EXPECT_THAT(shell("COLUMNS=60 $T list a.tscope | awk '{ if (length > 60) exit 1 }'").status, 0);
  EXPECT_EQ(shell("$T report a.tscope").out.find('\033'), std::string::npos);
  EXPECT_NE(shell("$T report a.tscope --color always").out.find('\033'), std::string::npos);
  EXPECT_EQ(shell("$T report a.tscope --color never").out.find('\033'), std::string::npos);
}

}  // namespace
}  // namespace tensorscope::testing
