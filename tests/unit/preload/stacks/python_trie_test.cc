// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_trie.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace tensorscope::stacks {
namespace {

class PythonTrieTest : public testing::Test {
 protected:
  Arena arena;
  std::unique_ptr<PythonTrie> owned = std::make_unique<PythonTrie>(arena);
  PythonTrie& trie = *owned;
};

TEST_F(PythonTrieTest, EachPartOfAFrameMatters) {
  const PythonTrie::Node node{0, 1, 10, 0, 0};
  StackId id = trie.intern(node);
  ASSERT_NE(id, 0u);
  EXPECT_EQ(trie.intern(node), id);
  EXPECT_EQ(trie[id], node);
  std::vector<StackId> others;
  for (const PythonTrie::Node& other : std::initializer_list<PythonTrie::Node>{{id, 1, 10, 0, 0},
                                                                               {0, 2, 10, 0, 0},
                                                                               {0, 1, 12, 0, 0},
                                                                               {0, 1, -1, 0, 0},
                                                                               {0, 1, 10, 1, 0},
                                                                               {0, 1, 10, 0, 64}}) {
    StackId fresh = trie.intern(other);
    for (StackId seen : others) EXPECT_NE(fresh, seen);
    EXPECT_NE(fresh, id);
    EXPECT_LT(other.parent, fresh);
    others.push_back(fresh);
  }
  EXPECT_EQ(trie.size(), 8u);
}

TEST_F(PythonTrieTest, ThreadsAgreeWhileItGrows) {
  constexpr int kThreads = 4, kDepth = 50, kStacks = 200;
  std::vector<StackId> leaves[kThreads];
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t stack = 0; stack < kStacks; ++stack) {
        StackId parent = 0;
        for (int32_t depth = 0; depth < kDepth; ++depth) parent = trie.intern({parent, stack % 7, depth, 0, stack});
        leaves[t].push_back(parent);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(leaves[t], leaves[0]);
  EXPECT_EQ(trie.size(), size_t{kDepth} * kStacks + 1);
  for (StackId id = 1; id < trie.size(); ++id) EXPECT_LT(trie[id].parent, id);
}

}  // namespace
}  // namespace tensorscope::stacks
