// SPDX-License-Identifier: Apache-2.0
#include "process/remote_interpreter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tensorscope::process {
namespace {

#if defined(__x86_64__)

// The parts of an interpreter that are looked at, in this process.
struct Interpreter {
  int64_t id = 0;
  Interpreter* next = nullptr;
  void* main_thread = nullptr;
  int32_t remote_debug = 1;
};
struct Thread {
  Interpreter* interpreter = nullptr;
  uint64_t breaker = uint64_t{7} << 8 | 1;  // a version of the instrumentation, and a bit that another one has set
  int32_t pending_call = 0;
  char script_path[512];
};

class RemoteInterpreterTest : public ::testing::Test {
 protected:
  // _Py_DebugOffsets of a series, then the head of the list of interpreters.
  void describe(uint64_t minor, size_t debugger) {
    words.assign(debugger + 6 + 16, 0);
    memcpy(words.data(), "xdebugpy", 8);
    words[1] = 0x03000000 | minor << 16 | 0x0af0;
    words[5] = (words.size() - 1) * sizeof words[0];
    words[7] = offsetof(Interpreter, id);
    words[8] = offsetof(Interpreter, next);
    words[10] = offsetof(Interpreter, main_thread);
    words[25] = offsetof(Thread, interpreter);
    words[debugger] = offsetof(Thread, breaker);
    words[debugger + 1] = offsetof(Thread, pending_call);
    words[debugger + 2] = offsetof(Interpreter, remote_debug);
    words[debugger + 4] = sizeof(int32_t);
    words[debugger + 5] = sizeof(Thread::script_path);
    words.back() = reinterpret_cast<uintptr_t>(&newer);
    newer.next = &main;
    main.main_thread = &thread;
    thread.interpreter = &main;
  }
  std::optional<RemoteInterpreter> found() const {
    return RemoteInterpreter::at(getpid(), reinterpret_cast<uintptr_t>(words.data()));
  }

  std::vector<uint64_t> words;
  Interpreter main, newer{.id = 1};
  Thread thread;
};

TEST_F(RemoteInterpreterTest, ARequestIsWrittenToTheMainThread) {
  for (const auto& [minor, debugger] : {std::pair{14, 89}, std::pair{15, 105}}) {
    thread = {};
    describe(uint64_t(minor), size_t(debugger));
    const auto interpreter = found();
    ASSERT_TRUE(interpreter) << minor;
    memset(thread.script_path, 'x', sizeof thread.script_path);
    ASSERT_TRUE(interpreter->ask_for("/tmp/script.py"));
    EXPECT_EQ(thread.pending_call, 1);
    EXPECT_STREQ(thread.script_path, "/tmp/script.py");
    EXPECT_EQ(thread.breaker, uint64_t(7) << 8 | 1 << 5 | 1);
    EXPECT_FALSE(interpreter->has_begun());
    EXPECT_FALSE(interpreter->ask_for("/tmp/other.py")) << "somebody's request waits";

    const auto* answer = reinterpret_cast<const char*>(interpreter->answer());
    EXPECT_EQ(answer + RemoteInterpreter::kAnswerBytes, thread.script_path + sizeof thread.script_path);
    EXPECT_EQ(std::string(answer, RemoteInterpreter::kAnswerBytes), std::string(RemoteInterpreter::kAnswerBytes, '\0'));

    interpreter->take_back();
    EXPECT_EQ(thread.pending_call, 0);
    EXPECT_TRUE(interpreter->has_begun());
  }
}

TEST_F(RemoteInterpreterTest, AnInterpreterThatTakesNoScriptsIsLeftAlone) {
  describe(14, 89);
  main.remote_debug = 0;
  EXPECT_FALSE(found());
  main.remote_debug = 1;
  EXPECT_TRUE(found());
  words[2] = 1;  // free-threaded
  EXPECT_FALSE(found());
}

// What is not as it is known must not be written to.
TEST_F(RemoteInterpreterTest, AnUnknownInterpreterIsLeftAlone) {
  describe(13, 89);
  EXPECT_FALSE(found());
  describe(16, 105);
  EXPECT_FALSE(found());
  describe(15, 89);
  EXPECT_FALSE(found()) << "the section is elsewhere";
  describe(14, 89);
  words[0] = 0;
  EXPECT_FALSE(found());
  describe(14, 89);
  words[89 + 5] = 256;
  EXPECT_FALSE(found()) << "the path has another size";
  describe(14, 89);
  thread.interpreter = &newer;
  EXPECT_FALSE(found()) << "no thread of this interpreter";
  EXPECT_FALSE(RemoteInterpreter::at(getpid(), 0));
}

TEST_F(RemoteInterpreterTest, APathThatIsTooLongIsNotWritten) {
  describe(14, 89);
  EXPECT_FALSE(found()->ask_for(std::string(256, 'p')));
  EXPECT_EQ(thread.pending_call, 0);
}

#endif

}  // namespace
}  // namespace tensorscope::process
