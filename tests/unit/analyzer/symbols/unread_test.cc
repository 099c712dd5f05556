// SPDX-License-Identifier: Apache-2.0
#include "symbols/unread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::analyzer {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kTorch = 0x1000, kLibc = 0x2000;

// Two libraries that are on no machine, and a program of two lines, one of which is known.
class UnreadTest : public ::testing::Test {
 protected:
  UnreadTest() {
    dump_.shared_objects.push_back({"/nowhere/libtorch_cpu.so", 0, kTorch, kTorch + 0x100, ""});
    dump_.shared_objects.push_back({"/nowhere/libc.so.6", 0, kLibc, kLibc + 0x100, ""});
    dump_.native_frames = {{}, {kTorch + 8, 0}, {kLibc + 8, 0}, {kLibc + 8, 1}};
    dump_.codes = {{}, {"/home/u/model.py", "forward", 1}, {"/home/u/lib/python3.11/runpy.py", "run", 1}};
    dump_.sources.files.push_back({.path = "/home/u/model.py", .lines = {{1, "y = f(x)"}}});
    dump_.python_frames.resize(1);
    dump_.python_frames.push_back({.code = 1, .line = 1});
    dump_.python_frames.push_back({.code = 1, .line = 2});
    dump_.python_frames.push_back({.parent = 2, .code = 1, .line = 1});
    dump_.python_frames.push_back({.code = 2, .line = 9});
    dump_.sites.resize(1);
  }
  uint32_t site(uint32_t native, uint32_t python) {
    dump_.sites.push_back({.native = native, .python = python});
    return uint32_t(dump_.sites.size() - 1);
  }
  // Asks about a site, and keeps what is said of files.
  template <typename Ask>
  bool asked(uint32_t site, Ask ask, bool native = true) {
    SymbolOptions options;
    options.use_cache = false;
    options.native = native;
    Symbols symbols(dump_, options);
    const bool answer = ask(symbols.unread(), site);
    files_ = symbols.unread().files();
    return answer;
  }

  Dump dump_;
  UnreadFiles files_;
};

bool operation(UnreadStacks& unread, uint32_t site) { return unread.operation(site); }
bool line(UnreadStacks& unread, uint32_t site) { return unread.line(site); }

TEST_F(UnreadTest, TheLibraryThatHasTheNamesOfOperations) {
  EXPECT_TRUE(asked(site(3, 1), operation));
  EXPECT_THAT(files_.libraries, ElementsAre("/nowhere/libtorch_cpu.so"));
  EXPECT_FALSE(files_.switched_off);
  EXPECT_TRUE(asked(site(1, 1), operation, false));
  EXPECT_TRUE(files_.switched_off);
  EXPECT_FALSE(asked(site(2, 1), operation));
  EXPECT_TRUE(files_.empty());
}

TEST_F(UnreadTest, AStackThatWasNotRecorded) {
  EXPECT_TRUE(asked(site(0, 1), operation));
  EXPECT_TRUE(files_.not_recorded);
  EXPECT_FALSE(asked(site(0, 0), operation));
  EXPECT_FALSE(files_.not_recorded);
}

TEST_F(UnreadTest, LinesOfTheProgramThatAreNotInTheDump) {
  EXPECT_FALSE(asked(site(1, 1), line));
  EXPECT_FALSE(asked(site(1, 4), line));  // the standard library's
  EXPECT_THAT(files_.sources, IsEmpty());
  EXPECT_TRUE(asked(site(1, 2), line));
  EXPECT_TRUE(asked(site(1, 3), line));  // of its caller
  EXPECT_THAT(files_.sources, ElementsAre("/home/u/model.py"));
  EXPECT_THAT(files_.libraries, IsEmpty());
}

}  // namespace

}  // namespace tensorscope::analyzer
