// SPDX-License-Identifier: Apache-2.0
// run, as a program of its own: what it hands to the program that it becomes.
// Covers: analyzer/process/{preload_library,elf_program}.cc
#include <gmock/gmock.h>
#include <sys/statvfs.h>
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
  EXPECT_EQ(shell("$T run --dir dumps -- sh -c 'echo $TENSORSCOPE_DIR'").out, (directory_ / "dumps").string() + "\n");
  Result result = shell("$T run --dir nowhere/dumps -- true");
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

TEST_F(RunTest, WhatIgnoresThePreloadIsSaid) {
  const std::string said = " is statically linked and ignores LD_PRELOAD: only programs that it starts are recorded.\n";
  EXPECT_EQ(shell("$T run -- " STATIC_PROGRAM).out, "tensorscope: '" STATIC_PROGRAM "'" + said + "static\n");
  EXPECT_EQ(shell("$T run -- " STATIC_PROGRAM " /bin/sh -c 'echo $LD_PRELOAD'").out,
            "tensorscope: '" STATIC_PROGRAM "'" + said + EMPTY_LIBRARY "\n");
  EXPECT_EQ(shell("$T run -- env --ignore-signal A=1 " STATIC_PROGRAM).out,
            "tensorscope: '" STATIC_PROGRAM "', which '" +
                shell("command -v env").out.substr(0, shell("command -v env").out.size() - 1) + "' is run by," + said +
                "static\n");
  const std::string loader = shell("ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null").out;
  EXPECT_EQ(shell("$T run -- " + loader.substr(0, loader.find('\n')) + " $(command -v env) echo dynamic").out,
            "dynamic\n");
}

#ifdef SANITIZED_PROGRAM
TEST_F(RunTest, AddressSanitizersRuntimeStaysTheFirst) {
  EXPECT_THAT(shell("$T run -- " SANITIZED_PROGRAM).out,
              ::testing::MatchesRegex("libasan\\.so\\.[0-9]+:" EMPTY_LIBRARY "\n"));
}
#endif

TEST_F(RunTest, ARuntimeThatIsPreloadedStaysTheFirst) {
  EXPECT_EQ(shell("LD_PRELOAD=/none/libasan.so.8:/b $T run -- env 2>/dev/null | grep ^LD_PRELOAD").out,
            "LD_PRELOAD=/none/libasan.so.8:/b:" EMPTY_LIBRARY "\n");
}

TEST_F(RunTest, AScriptIsFollowedToItsInterpreter) {
  for (const char* line : {"#!" STATIC_PROGRAM "\n", "#! /usr/bin/env -S " STATIC_PROGRAM " -x\n"}) {
    std::ofstream("script") << line;
    std::filesystem::permissions("script", std::filesystem::perms::owner_all);
    EXPECT_THAT(shell("$T run -- ./script").out,
                HasSubstr("tensorscope: '" STATIC_PROGRAM "', which './script' is run by, is statically linked"));
  }
  std::ofstream("script") << "#!/bin/sh\necho shell\n";
  EXPECT_EQ(shell("$T run -- ./script").out, "shell\n");
  std::ofstream("script") << "#!" << (directory_ / "script").string() << "\n";
  EXPECT_EQ(shell("$T run -- ./script").status, 126);
}

TEST_F(RunTest, AProgramWithMoreRightsIsNotStarted) {
  struct statvfs system = {};
  if (statvfs(".", &system) == 0 && (system.f_flag & ST_NOSUID)) GTEST_SKIP() << "no setuid bit counts in this folder";
  const bool root = getuid() == 0;
  if (root) {
    ASSERT_EQ(shell("cp $(command -v env) other && chown 65534 other && chmod 4755 other").status, 0);
  }
  const Result result = shell(std::string("$T run -- ") + (root ? "./other" : "su --version"));
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, HasSubstr("has the setuid bit: the system ignores LD_PRELOAD, nothing would be recorded."));
  if (root) {
    EXPECT_EQ(shell("chown 0 other && chmod 4755 other && $T run -- ./other").status, 0);
  }
}

// A folder that looks as pip leaves it, with this program in bin/.
class EnvironmentTest : public RunTest {
 protected:
  static constexpr const char* kPlain = "env -u TENSORSCOPE_LIB ";
  void put_library(const std::string& folder, const std::string& library = EMPTY_LIBRARY) {
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(library, folder + "/libtensorscope.so");
  }
  void make(const std::string& folder) {
    std::filesystem::create_directories(folder + "/bin");
    ASSERT_EQ(shell("ln $T " + folder + "/bin/tensorscope 2>/dev/null || cp $T " + folder + "/bin/").status, 0);
  }
  std::string preloaded(const std::string& program) {
    return shell(kPlain + program + " run -- sh -c 'echo $LD_PRELOAD'").out;
  }
};

TEST_F(EnvironmentTest, TheLibraryIsFoundWhereverPipPutsIt) {
  int number = 0;
  for (const char* packages :
       {"lib/python3.9/site-packages/tensorscope", "lib64/python3.13t/site-packages/tensorscope",
        "lib/python3.11/dist-packages/tensorscope", "local/lib/python3.11/dist-packages/tensorscope", "tensorscope"}) {
    const std::string folder = "environment" + std::to_string(number++);
    make(folder);
    put_library(folder + "/" + packages);
    EXPECT_EQ(preloaded(folder + "/bin/tensorscope"),
              (directory_ / folder / packages / "libtensorscope.so").string() + "\n");
  }
  std::filesystem::create_symlink("environment0/bin/tensorscope", "link");  // pipx, uv tool
  EXPECT_THAT(preloaded("./link"), HasSubstr("environment0/lib/python3.9"));
}

TEST_F(EnvironmentTest, ALibraryOfAnotherVersionIsNotTaken) {
  make("home");
  put_library("home/lib/python3.12/site-packages/tensorscope", EMPTY_LIBRARY_2);
  const Result result = shell(std::string(kPlain) + "home/bin/tensorscope run -- true");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, HasSubstr("no libtensorscope.so of version " TENSORSCOPE_VERSION ", which "));
  EXPECT_THAT(result.out,
              HasSubstr("/python3.12/site-packages/tensorscope/libtensorscope.so (version 0.0.1). Install both again"));
  put_library("home/lib/python3.9/site-packages/tensorscope");
  EXPECT_THAT(preloaded("home/bin/tensorscope"), HasSubstr("/python3.9/"));
}

TEST_F(EnvironmentTest, PythonIsTheEnvironmentsOwnWithoutActivation) {
  make("venv");
  put_library("venv/lib/python3.9/site-packages/tensorscope");
  std::ofstream("venv/bin/python") << "#!/bin/sh\necho $0 $*\n";
  std::filesystem::permissions("venv/bin/python", std::filesystem::perms::owner_all);
  std::filesystem::create_directory("other");
  std::ofstream("other/python") << "#!/bin/sh\necho other $*\n";
  std::filesystem::permissions("other/python", std::filesystem::perms::owner_all);
  const std::string run = "PATH=$PWD/other:$PATH venv/bin/tensorscope run ",
                    own = (directory_ / "venv/bin/python").string();
  EXPECT_EQ(shell(run + "python a.py").out, "other a.py\n");  // no environment
  std::ofstream("venv/pyvenv.cfg") << "";
  EXPECT_EQ(shell(run + "python a.py").out, own + " a.py\n");
  EXPECT_EQ(shell(run + "-m torch.distributed.run --quiet a.py").out, own + " -m torch.distributed.run --quiet a.py\n");
  EXPECT_EQ(shell(run + "--quiet -- -m a").out, own + " -m a\n");
  EXPECT_EQ(shell("PATH=$PWD/other:$PWD/venv/bin:$PATH venv/bin/tensorscope run python a.py").out, "other a.py\n");
  std::filesystem::create_directory("links");
  std::filesystem::create_symlink("../venv/bin/tensorscope", "links/tensorscope");  // pipx, uv tool
  for (const char* called : {"links/tensorscope", "tensorscope"}) {
    EXPECT_EQ(shell(std::string("PATH=$PWD/other:$PWD/links:$PATH ") + called + " run python a.py").out,
              "other a.py\n");
  }
  EXPECT_EQ(shell("TENSORSCOPE_INTERPRETER=$PWD/other/python " + run + "-m a").out, "other -m a\n");
  EXPECT_EQ(shell("TENSORSCOPE_INTERPRETER=x " + run + "sh -c 'echo $TENSORSCOPE_INTERPRETER'").out, "\n");
  EXPECT_EQ(shell(run + "-m").status, 2);
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
