#include "support/enough_memory.h"

#include <gtest/gtest.h>

#include <new>
#include <thread>
#include <vector>

namespace tensorscope {
namespace {

constexpr size_t kTooMuch = size_t{1} << 62;

void* volatile g_taken = nullptr;  // what nobody uses, a compiler need not take
void take_too_much() { g_taken = ::operator new(kTooMuch); }

struct Scope : UndoneScope {
  explicit Scope(std::vector<int>& undone, int number) : undone(undone), number(number) {}
  ~Scope() { undo(); }
  void undo() final { undone.push_back(number); }
  std::vector<int>& undone;
  int number;
};

TEST(EnoughMemory, WorkThatFindsMemoryEnds) {
  bool ended = false;
  EXPECT_TRUE(run_if_memory_lasts([&] { ended = true; }));
  EXPECT_TRUE(ended);
}

TEST(EnoughMemory, WorkThatFindsNoneIsLeft) {
  bool begun = false, ended = false;
  EXPECT_FALSE(run_if_memory_lasts([&] {
    begun = true;
    take_too_much();
    ended = true;
  }));
  EXPECT_TRUE(begun);
  EXPECT_FALSE(ended);
}

TEST(EnoughMemory, TheInnermostWorkIsLeft) {
  bool inner = true, went_on = false;
  EXPECT_TRUE(run_if_memory_lasts([&] {
    inner = run_if_memory_lasts([] { take_too_much(); });
    went_on = true;
  }));
  EXPECT_FALSE(inner);
  EXPECT_TRUE(went_on);
  EXPECT_FALSE(run_if_memory_lasts([&] {
    EXPECT_TRUE(run_if_memory_lasts([] {}));
    take_too_much();
  }));
}

TEST(EnoughMemory, ScopesOfTheWorkAreUndoneFromTheInnermostOnceEach) {
  std::vector<int> undone;
  undone.reserve(8);
  {
    const Scope around(undone, 0);
    EXPECT_FALSE(run_if_memory_lasts([&] {
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
  EXPECT_TRUE(run_if_memory_lasts([] {
    bool lasted = true;
    std::thread other([&] { lasted = run_if_memory_lasts([] { take_too_much(); }); });
    other.join();
    EXPECT_FALSE(lasted);
  }));
}

}  // namespace
}  // namespace tensorscope
