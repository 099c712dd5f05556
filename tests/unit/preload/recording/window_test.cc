// SPDX-License-Identifier: Apache-2.0
#include "recording/window.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/process_info.h"

namespace tensorscope::recording {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kPayload = 1 << 16;

class WindowTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tensorscope-window-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    setenv("TENSORSCOPE_DIR", folder, 1);
    parse_options();
    start_process_info();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      names.push_back(name.substr(name.find(".recording")));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  static bool append(dump::ChunkSink& sink, char what) {
    const std::string payload(kPayload, what);
    return sink.append(1, payload.data(), payload.size());
  }
  // What the recording holds, a letter a chunk.
  static std::string held(const Window& window) {
    std::ifstream file(window.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::string letters;
    for (size_t at = bytes.size() - kPayload; at < bytes.size(); at -= kPayload + 24) {
      letters.insert(letters.begin(), bytes[at]);
    }
    return letters;
  }
  // One flush, as the recorder makes it.
  static bool flush(Window& window, char what, uint64_t now_ns) {
    if (!append(window, what) || !window.move(now_ns)) return false;
    if (!window.wants_next(now_ns)) return true;
    dump::ChunkSink* const next = window.begin_next(now_ns);
    return next && append(*next, char(what - 'a' + 'A')) && window.next_has_begun();
  }

  std::string folder_;
};

TEST_F(WindowTest, WithoutOneEverythingStays) {
  Window window({});
  ASSERT_TRUE(window.begin(0));
  for (char c = 'a'; c <= 'z'; ++c) ASSERT_TRUE(flush(window, c, uint64_t(c) * 1000 * kSecond));
  EXPECT_EQ(held(window), "abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(files(), std::vector<std::string>{".recording"});
}

TEST_F(WindowTest, HoldsBetweenOnceAndTwiceTheTime) {
  Window window({.seconds = 4});
  ASSERT_TRUE(window.begin(0));
  std::string all;
  for (uint64_t second = 1; second <= 20; ++second) {
    const char what = char('a' + second - 1);
    ASSERT_TRUE(flush(window, what, second * kSecond));
    all += what;
    const std::string now = held(window);
    EXPECT_LE(now.size(), 8U + 1);
    EXPECT_GE(now.size(), std::min<size_t>(second, 4));
    // A beginning in capitals, and all that came after it.
    const std::string rest = isupper(now[0]) != 0 ? now.substr(1) : now;
    EXPECT_EQ(rest, all.substr(all.size() - rest.size()));
    const bool begins_late = rest.size() != now.size();
    EXPECT_TRUE(!begins_late || tolower(now[0]) == all[all.size() - rest.size() - 1]);
  }
  EXPECT_EQ(files(), (std::vector<std::string>{".recording", ".recording.next"}));
  window.end_next();
  EXPECT_EQ(files(), std::vector<std::string>{".recording"});
}

TEST_F(WindowTest, HoldsAtMostTheSize) {
  Window window({.bytes = 16 * kPayload});
  ASSERT_TRUE(window.begin(0));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(flush(window, 'a', uint64_t(i)));
    EXPECT_LE(window.bytes(), 17 * kPayload);
    EXPECT_GE(window.bytes(), std::min(uint64_t(i), uint64_t{8}) * kPayload);
  }
}

TEST_F(WindowTest, ABeginningThatFillsTheSizeIsRefused) {
  Window window({.bytes = 16 * kPayload});
  ASSERT_TRUE(window.begin(0));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(append(window, 'a'));
  dump::ChunkSink* const next = window.begin_next(0);
  ASSERT_NE(next, nullptr);
  for (int i = 0; i < 13; ++i) ASSERT_TRUE(append(*next, 'b'));
  EXPECT_FALSE(window.next_has_begun());
  EXPECT_EQ(window.failure().error, 0);
}

TEST_F(WindowTest, AFileThatSomebodyTookAwayEndsIt) {
  Window window({.seconds = 1});
  ASSERT_TRUE(window.begin(0));
  ASSERT_TRUE(flush(window, 'a', kSecond));
  fs::remove(window.path());
  EXPECT_FALSE(append(window, 'b'));
  EXPECT_NE(window.failure().error, 0);
  window.end_next();
  EXPECT_EQ(files(), std::vector<std::string>{});
}

}  // namespace
}  // namespace tensorscope::recording
