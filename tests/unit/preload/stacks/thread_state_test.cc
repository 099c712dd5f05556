// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/thread_state.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <thread>

namespace tensorscope::stacks {
namespace {

pthread_key_t g_state_key;
int g_asked = 0;

PyObject* state_of_this_thread() {
  ++g_asked;
  return static_cast<PyObject*>(pthread_getspecific(g_state_key));
}

// An interpreter that keeps its thread states as CPython does up to 3.13.
class ThreadStateTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pthread_key_create(&g_state_key, nullptr), 0);
    ASSERT_LT(g_state_key, 32u);
    api_.this_thread_state = state_of_this_thread;
    set(one_);
  }
  void TearDown() override { pthread_key_delete(g_state_key); }
  static void set(const char* state) { ASSERT_EQ(pthread_setspecific(g_state_key, state), 0); }
  const char* read() { return state_.of_this_thread(until_asked_); }
  // How many of so many reads asked the function.
  int asked(int reads) {
    const int before = g_asked;
    for (int i = 0; i < reads; ++i) read();
    return g_asked - before;
  }

  PythonApi api_{};
  ThreadState state_{api_};
  uint32_t until_asked_ = 0;
  const char *one_ = "one", *other_ = "other";
};

TEST_F(ThreadStateTest, TheFunctionIsAskedUntilThePlaceIsKnown) {
  EXPECT_EQ(read(), one_);
  EXPECT_EQ(asked(10), 10);
}

TEST_F(ThreadStateTest, TheFirstReadOfAThreadAndEvery251stAsks) {
  state_.find();
  EXPECT_EQ(asked(1), 1);
  EXPECT_EQ(asked(250), 0);
  EXPECT_EQ(asked(1), 1);
  EXPECT_EQ(asked(2510), 10);
}

TEST_F(ThreadStateTest, EachThreadHasItsOwn) {
  state_.find();
  read();
  set(other_);
  EXPECT_EQ(read(), other_);
  std::thread([this] {
    uint32_t first = 0;
    EXPECT_EQ(state_.of_this_thread(first), nullptr);
    EXPECT_EQ(state_.of_this_thread(first), nullptr);
    set(one_);
    EXPECT_EQ(state_.of_this_thread(first), one_);
  }).join();
  EXPECT_EQ(read(), other_);
  EXPECT_EQ(asked(100), 0);
}

// pybind11 keeps a thread's state in a key of its own.
TEST_F(ThreadStateTest, TwoKeysWithTheSameValueTellNothing) {
  pthread_key_t second;
  ASSERT_EQ(pthread_key_create(&second, nullptr), 0);
  ASSERT_EQ(pthread_setspecific(second, one_), 0);
  state_.find();
  EXPECT_EQ(asked(10), 10);
  pthread_key_delete(second);
}

TEST_F(ThreadStateTest, AKeyThatIsAnotherLibrarysNowIsNotRead) {
  state_.find();
  read();
  const pthread_key_t before = g_state_key;
  pthread_key_delete(g_state_key);
  pthread_key_t taken;
  ASSERT_EQ(pthread_key_create(&taken, nullptr), 0);
  ASSERT_EQ(taken, before);
  ASSERT_EQ(pthread_key_create(&g_state_key, nullptr), 0);
  ASSERT_EQ(pthread_setspecific(taken, other_), 0);
  set(one_);
  EXPECT_EQ(read(), one_);
  pthread_key_delete(taken);
}

TEST_F(ThreadStateTest, WhatTheFunctionDeniesIsGivenUp) {
  state_.find();
  read();
  // The interpreter keeps it elsewhere now.
  const pthread_key_t before = g_state_key;
  ASSERT_EQ(pthread_key_create(&g_state_key, nullptr), 0);
  set(other_);
  asked(250);
  EXPECT_EQ(read(), other_);
  EXPECT_EQ(asked(10), 10);
  pthread_key_delete(before);
}

TEST_F(ThreadStateTest, NothingIsReadAfterGivingUp) {
  state_.find();
  read();
  state_.give_up();
  EXPECT_EQ(asked(10), 10);
  EXPECT_EQ(read(), one_);
}

}  // namespace
}  // namespace tensorscope::stacks
