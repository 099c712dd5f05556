// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_capture.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <memory>
#include <vector>

namespace tensorscope::stacks {
namespace {

// What is kept for a thread can only be given back where something tells that the thread ends.
TEST(PythonCapture, NeedsAKeyOfThreadSpecificData) {
  Arena arena;
  const PythonInterpreter interpreter;
  const auto codes = std::make_unique<PythonCodeTable>(arena);
  const auto trie = std::make_unique<PythonTrie>(arena);
  PythonCapture capture(interpreter, *codes, *trie);
  std::vector<pthread_key_t> keys;
  for (pthread_key_t key; pthread_key_create(&key, nullptr) == 0;) keys.push_back(key);
  ASSERT_GT(keys.size(), 100u);
  EXPECT_FALSE(capture.prepare());
  for (const pthread_key_t key : keys) pthread_key_delete(key);
  EXPECT_TRUE(capture.prepare());
}

}  // namespace
}  // namespace tensorscope::stacks
