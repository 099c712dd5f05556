// SPDX-License-Identifier: Apache-2.0
#include "support/enough_memory.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace tensorscope {
namespace {

// As run_or_abandon_on_oom(), where `new` finds no memory but the reserve.
template <typename Work>
bool run_without_memory(Work work) {
  set_source_of_memory_for_test([](size_t) -> void* { return nullptr; });
  const bool lasted = run_or_abandon_on_oom(work);
  set_source_of_memory_for_test(nullptr);
  return lasted;
}

void* volatile g_taken = nullptr;  // what nobody uses, a compiler need not take
void take(size_t bytes) { g_taken = ::operator new(bytes); }
void take_too_much() { take(2 * kMemoryReserveBytes); }

struct Scope : UndoneScope {
  explicit Scope(std::vector<int>& undone, int number) : undone(undone), number(number) {}
  ~Scope() { undo(); }
  void undo() final { undone.push_back(number); }
  std::vector<int>& undone;
  int number;
};

TEST(EnoughMemory, WorkThatFindsMemoryEnds) {
  bool ended = false, was_short = true;
  EXPECT_TRUE(run_or_abandon_on_oom([&] {
    const std::string text(1000, 'x');
    was_short = memory_is_short();
    ended = true;
  }));
  EXPECT_TRUE(ended);
  EXPECT_FALSE(was_short);
}

TEST(EnoughMemory, WorkThatAsksEndsByItselfAndLosesNothing) {
  size_t made = 0;
  EXPECT_TRUE(run_without_memory([&] {
    std::vector<std::unique_ptr<std::string>> texts;
    while (!memory_is_short()) {
      texts.push_back(std::make_unique<std::string>(100, 'x'));
      ++made;
    }
  }));
  EXPECT_EQ(made, 1u);
  EXPECT_FALSE(memory_is_short());
}

TEST(EnoughMemory, WhatWasFreedServesTheNextWork) {
  for (int i = 0; i < 10; ++i) {
    bool is_short = false;
    EXPECT_TRUE(run_without_memory([&] {
      const std::string large(kMemoryReserveBytes / 2, 'x');
      is_short = memory_is_short();
    }));
    EXPECT_TRUE(is_short);
  }
}

TEST(EnoughMemory, WhatTheReserveServedOutlivesTheWork) {
  std::string kept;
  EXPECT_TRUE(run_without_memory([&] { kept = std::string(1000, 'k'); }));
  EXPECT_TRUE(run_without_memory([&] { const std::string other(1000, 'o'); }));
  EXPECT_EQ(kept, std::string(1000, 'k'));
}

TEST(EnoughMemory, WorkThatNeedsMoreThanTheReserveIsLeft) {
  bool begun = false, ended = false;
  EXPECT_FALSE(run_without_memory([&] {
    begun = true;
    take_too_much();
    ended = true;
  }));
  EXPECT_TRUE(begun);
  EXPECT_FALSE(ended);
}

TEST(EnoughMemory, TheInnermostWorkIsLeft) {
  bool inner = true, is_short = false, innermost = false;
  EXPECT_TRUE(run_without_memory([&] {
    inner = run_or_abandon_on_oom([] { take_too_much(); });
    is_short = memory_is_short();
  }));
  EXPECT_FALSE(inner);
  EXPECT_TRUE(is_short);
  EXPECT_FALSE(run_without_memory([&] {
    innermost = run_or_abandon_on_oom([] {});
    take_too_much();
  }));
  EXPECT_TRUE(innermost);
}

TEST(EnoughMemory, ScopesOfTheWorkAreUndoneFromTheInnermostOnceEach) {
  std::vector<int> undone;
  undone.reserve(8);
  {
    const Scope around(undone, 0);
    EXPECT_FALSE(run_without_memory([&] {
      const Scope outer(undone, 1);
      { const Scope ended(undone, 2); }
      const Scope inner(undone, 3);
      take_too_much();
    }));
    EXPECT_EQ(undone, (std::vector<int>{2, 3, 1}));
  }
  EXPECT_EQ(undone, (std::vector<int>{2, 3, 1, 0}));
}

TEST(EnoughMemory, EachThreadLeavesItsOwnWork) {
  EXPECT_TRUE(run_or_abandon_on_oom([] {
    bool lasted = true;
    std::thread other([&] { lasted = run_without_memory([] { take_too_much(); }); });
    other.join();
    EXPECT_FALSE(lasted);
    EXPECT_FALSE(memory_is_short());
  }));
}

// What CPython 3.14 asks of its callers.
TEST(EnoughMemory, TheStackIsThatOfTheThreadWhereThisIsWanted) {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  size_t size = 0;
  ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
  ASSERT_EQ(pthread_attr_getstack(&attributes, &lowest, &size), 0);
  pthread_attr_destroy(&attributes);
  const auto of_thread = [&](WorkStack stack) {
    bool inside = false;
    EXPECT_TRUE(run_or_abandon_on_oom(
        [&] {
          const char* here = static_cast<char*>(__builtin_frame_address(0));
          inside = here > lowest && here < static_cast<char*>(lowest) + size;
        },
        stack));
    return inside;
  };
  EXPECT_TRUE(of_thread(WorkStack::of_thread));
  EXPECT_FALSE(of_thread(WorkStack::mapped));
}

void* run_on_small_stack(void* lasted) {
  *static_cast<bool*>(lasted) = run_or_abandon_on_oom([] {}, WorkStack::of_thread);
  return nullptr;
}

TEST(EnoughMemory, AThreadWithoutSoMuchStackDoesNotBegin) {
  bool lasted = true;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{256} << 10);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, run_on_small_stack, &lasted), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_FALSE(lasted);
}

TEST(MemoryLimit, CountsWhatNewTakesAndGivesBack) {
  MemoryLimit limit(100'000);
  {
    const std::vector<char> half(50'000);
    EXPECT_GE(limit.taken(), 50'000u);
    EXPECT_FALSE(memory_is_short());
    const std::vector<char> rest(60'000);  // served, but it is the last
    EXPECT_TRUE(memory_is_short());
  }
  EXPECT_LT(limit.taken(), 50'000u);
  EXPECT_GE(limit.peak_taken(), 110'000u);
  EXPECT_FALSE(memory_is_short());
}

// Last: that memory is lost, as the header says.
TEST(EnoughMemory, WorkThatNeverAsksIsLeftOnceTheReserveIsUsedUp) {
  size_t taken = 0;
  EXPECT_FALSE(run_without_memory([&] {
    for (;; ++taken) take(1024);
  }));
  EXPECT_GT(taken, 0u);
  EXPECT_LE(taken, kMemoryReserveBytes / 1024);
}

}  // namespace
}  // namespace tensorscope
