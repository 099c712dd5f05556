// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/native_trie.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

namespace tensorscope::stacks {
namespace {

std::vector<uint64_t> addresses_of(const NativeTrie& trie, StackId id) {
  std::vector<uint64_t> addresses;
  for (; id != 0; id = trie.frame(id).parent) addresses.push_back(trie.frame(id).address);
  return addresses;
}

TEST(NativeTrie, SameChildOfSameParentIsSameNode) {
  static constinit NativeTrie trie;
  const StackId a = trie.child(0, 0x1000);
  const StackId b = trie.child(a, 0x2000);
  EXPECT_NE(a, 0u);
  EXPECT_NE(b, a);
  EXPECT_EQ(trie.child(0, 0x1000), a);
  EXPECT_EQ(trie.child(a, 0x2000), b);
  EXPECT_NE(trie.child(0, 0x2000), b);  // same address, another caller
  EXPECT_NE(trie.child(b, 0x2000), b);
  EXPECT_EQ(addresses_of(trie, b), (std::vector<uint64_t>{0x2000, 0x1000}));
}

TEST(NativeTrie, NextNumberIsNoChildUnlessItsParentSaysSo) {
  static constinit NativeTrie trie;
  const StackId a = trie.child(0, 0x1000);
  const StackId b = trie.child(0, 0x2000);
  ASSERT_EQ(b, a + 1);
  EXPECT_NE(trie.child(a, 0x2000), b);
  EXPECT_EQ(addresses_of(trie, trie.child(a, 0x2000)), (std::vector<uint64_t>{0x2000, 0x1000}));
}

TEST(NativeTrie, NoAddressIsNoNode) {
  static constinit NativeTrie trie;
  EXPECT_EQ(trie.child(0, 0), 0u);
  EXPECT_EQ(trie.count(), 1u);
  EXPECT_EQ(trie.frame(0).address, 0u);
  EXPECT_EQ(trie.frame(12345).address, 0u);
}

// Enough keys to fill the lines of the first level and go on to the next ones.
TEST(NativeTrie, GrowsBeyondItsFirstLevels) {
  static constinit NativeTrie trie;
  std::mt19937_64 random(1);
  std::map<std::pair<StackId, uint64_t>, StackId> truth;
  StackId parent = 0;
  for (int i = 0; i < 700'000; ++i) {
    const uint64_t address = 0x7f0000000000 + random() % 50'000;
    const StackId id = trie.child(parent, address);
    ASSERT_NE(id, 0u);
    ASSERT_LT(parent, id);
    const auto [known, fresh] = truth.emplace(std::pair(parent, address), id);
    ASSERT_EQ(known->second, id);
    parent = random() % 8 == 0 ? 0 : id;
  }
  EXPECT_EQ(trie.count(), truth.size() + 1);
  for (const auto& [key, id] : truth) {
    ASSERT_EQ(trie.child(key.first, key.second), id);
    ASSERT_EQ(trie.frame(id).parent, key.first);
    ASSERT_EQ(trie.frame(id).address, key.second);
  }
}

TEST(NativeTrie, ThreadsAgree) {
  static constinit NativeTrie trie;
  constexpr int kThreads = 4, kStacks = 20'000, kDepth = 6;
  std::vector<std::vector<StackId>> ids(kThreads, std::vector<StackId>(kStacks));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kStacks; ++i) {
        std::mt19937 random(i);
        StackId id = 0;
        for (int depth = 0; depth < kDepth; ++depth) id = trie.child(id, 1 + random() % 30);
        ids[t][i] = id;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kStacks; ++i) {
      std::mt19937 random(i);
      std::vector<uint64_t> expected(kDepth);
      for (int depth = kDepth - 1; depth >= 0; --depth) expected[depth] = 1 + random() % 30;
      ASSERT_EQ(addresses_of(trie, ids[t][i]), expected);
    }
  }
}

}  // namespace
}  // namespace tensorscope::stacks
