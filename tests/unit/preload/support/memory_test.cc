// SPDX-License-Identifier: Apache-2.0
// Pages and arenas.
// Covers: preload/support/{arena,pages}.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "support/arena.h"
#include "support/coverage.h"
#include "support/options.h"
#include "support/pages.h"

namespace tensorscope {
namespace {

TEST(Pages, AreCountedWhileTheyAreMapped) {
  const uint64_t before = mapped_bytes();
  void* pages = map_pages(5000);
  ASSERT_NE(pages, nullptr);
  EXPECT_EQ(mapped_bytes(), before + 8192);
  static_cast<char*>(pages)[4999] = 1;
  unmap_pages(pages, 5000);
  unmap_pages(nullptr, 5000);
  EXPECT_EQ(mapped_bytes(), before);
}

TEST(Pages, NoMemoryIsNullAndLeavesErrnoAlone) {
  errno = 77;
  EXPECT_EQ(map_pages(SIZE_MAX), nullptr);
  EXPECT_EQ(map_pages(size_t{1} << 60), nullptr);
  EXPECT_EQ(errno, 77);
}

TEST(Arena, GivesZeroedAlignedPiecesThatDoNotOverlap) {
  static constinit Arena arena{Arena::Limit::none};
  char* end_of_last = nullptr;
  for (size_t i = 1; i < 3000; ++i) {
    const size_t alignment = size_t{1} << (i % 8);
    auto* piece = static_cast<char*>(arena.allocate(i, alignment));
    ASSERT_NE(piece, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % alignment, 0u);
    for (size_t j = 0; j < i; ++j) ASSERT_EQ(piece[j], 0) << "not fresh";
    std::fill(piece, piece + i, char(0xff));
    end_of_last = piece + i;
  }
  EXPECT_NE(end_of_last, nullptr);
  EXPECT_GE(arena.bytes(), 3000u * 2999 / 2);
}

TEST(Arena, GivesLargePiecesTheirOwnPages) {
  static constinit Arena arena{Arena::Limit::none};
  auto* large = static_cast<char*>(arena.allocate(10 << 20, 64));
  ASSERT_NE(large, nullptr);
  large[(10 << 20) - 1] = 1;
  EXPECT_EQ(arena.allocate(SIZE_MAX - 100), nullptr);
}

TEST(Arena, ThreadsGetDifferentPieces) {
  static constinit Arena arena{Arena::Limit::none};
  constexpr int kThreads = 4;
  std::vector<std::vector<uint64_t*>> pieces(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50000; ++i) {
        pieces[t].push_back(arena.allocate_array<uint64_t>(3));
        *pieces[t].back() = uint64_t(t) << 32 | uint64_t(i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < 50000; ++i) ASSERT_EQ(*pieces[t][i], uint64_t(t) << 32 | uint64_t(i));
  }
}

TEST(Arena, StopsAtTheLimitOfStackMemory) {
  setenv("TENSORSCOPE_MAX_STACK_MEMORY", "1M", 1);
  parse_options();
  static constinit Arena limited;
  static constinit Arena unlimited{Arena::Limit::none};
  set_coverage(Subject::native_stacks, Seen::no, "switched off");
  set_coverage(Subject::python_stacks, Seen::yes, "CPython");
  size_t got = 0;
  while (got < (4 << 20) && limited.allocate(1000) != nullptr) got += 1000;
  EXPECT_GT(got, size_t{512} << 10);
  EXPECT_LE(got, size_t{1} << 20);
  EXPECT_LE(limited_arena_bytes(), uint64_t{1} << 20);
  EXPECT_EQ(limited.allocate(2 << 20), nullptr);
  EXPECT_EQ(coverage(Subject::python_stacks).seen, Seen::partly);
  EXPECT_THAT(coverage(Subject::python_stacks).detail.load(), testing::HasSubstr("TENSORSCOPE_MAX_STACK_MEMORY"));
  EXPECT_STREQ(coverage(Subject::native_stacks).detail.load(), "switched off");
  EXPECT_NE(unlimited.allocate(2 << 20), nullptr);
  unsetenv("TENSORSCOPE_MAX_STACK_MEMORY");
  parse_options();
  EXPECT_NE(limited.allocate(1000), nullptr);
}

TEST(Arena, CopiesTexts) {
  static constinit Arena arena{Arena::Limit::none};
  EXPECT_STREQ(arena.copy("abc"), "abc");
  EXPECT_STREQ(arena.copy(""), "");
}

}  // namespace
}  // namespace tensorscope
