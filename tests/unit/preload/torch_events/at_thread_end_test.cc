// SPDX-License-Identifier: Apache-2.0
// What a thread has of its own ends with it.
#include "torch_events/at_thread_end.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tensorscope::torch_events {
namespace {

std::atomic<int> g_alive{0};
struct Counted {
  Counted() { ++g_alive; }
  ~Counted() { --g_alive; }
};
thread_local Counted* t_first = nullptr;
thread_local Counted* t_second = nullptr;

void make(Counted*& mine) {
  if (mine != nullptr) return;
  mine = new Counted;
  delete_at_thread_end(mine);
}

TEST(AtThreadEnd, EachThreadsObjectsEndWithIt) {
  start_thread_ends();
  for (int round = 0; round < 3; ++round) {
    std::thread([] {
      for (int i = 0; i < 2; ++i) make(t_first), make(t_second);
      EXPECT_EQ(g_alive, 2);
    }).join();
    EXPECT_EQ(g_alive, 0);
  }
}

// As a hook does that is called by another library's own end of the thread.
TEST(AtThreadEnd, WhatIsMadeWhileTheThreadEndsEndsToo) {
  start_thread_ends();
  static std::atomic<int> ended{0};
  std::thread([] { at_thread_end([](void*) { make(t_first), ++ended; }, nullptr); }).join();
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(g_alive, 0);
}

}  // namespace
}  // namespace tensorscope::torch_events
