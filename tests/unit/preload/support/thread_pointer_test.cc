// SPDX-License-Identifier: Apache-2.0
// Where a library keeps a pointer among its thread-local variables, learnt from what a function says.
#include "support/thread_pointer.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/loaded_object.h"

namespace tensorscope {
namespace {

constexpr int kEnough = ThreadPointerFinder::kEnough;

class ThreadPointer : public testing::Test {
 protected:
  // The function says what the variable holds; the other words are as they are.
  void say(uintptr_t pointer) {
    words_[kAt] = pointer;
    finder_.add({words_.data(), words_.size()}, pointer);
  }

  static constexpr int kAt = 130;
  std::vector<uintptr_t> words_ = std::vector<uintptr_t>(200);
  ThreadPointerFinder finder_;
};

TEST_F(ThreadPointer, IsFoundAfterEnoughPointersAndNulls) {
  for (int i = 1; i <= kEnough; ++i) {
    EXPECT_EQ(finder_.offset(), -1);
    say(uintptr_t(i) * 64);
    say(0);
  }
  EXPECT_EQ(finder_.offset(), kAt);
  EXPECT_FALSE(finder_.gave_up());
}

TEST_F(ThreadPointer, NothingIsLearntFromNullAlone) {
  EXPECT_FALSE(finder_.wants(0));
  for (int i = 0; i < 100; ++i) say(0);
  words_[3] = 64;
  say(64);
  words_[3] = 0;
  EXPECT_TRUE(finder_.wants(0));
  EXPECT_EQ(finder_.offset(), -1);
}

TEST_F(ThreadPointer, TwoWordsThatAlwaysHoldItAreNone) {
  for (int i = 1; i <= 100; ++i) {
    for (const uintptr_t pointer : {uintptr_t(i) * 64, uintptr_t(0)}) {
      words_[7] = pointer;
      say(pointer);
    }
  }
  EXPECT_EQ(finder_.offset(), -1);
  EXPECT_FALSE(finder_.gave_up());
  words_[7] = 1;
  say(64);
  EXPECT_EQ(finder_.offset(), kAt);
}

TEST_F(ThreadPointer, APointerThatIsInNoWordEndsIt) {
  say(64);
  finder_.add({words_.data(), words_.size()}, 128);
  EXPECT_TRUE(finder_.gave_up());
  for (int i = 1; i <= 100; ++i) {
    say(uintptr_t(i) * 64);
    say(0);
  }
  EXPECT_EQ(finder_.offset(), -1);
}

TEST_F(ThreadPointer, ALibraryWithoutOrWithTooManyVariablesIsNotLookedAt) {
  finder_.add({}, 64);
  EXPECT_TRUE(finder_.gave_up());
  ThreadPointerFinder other;
  const std::vector<uintptr_t> many(ThreadPointerFinder::kMaxWords + 1, 64);
  other.add({many.data(), many.size()}, 64);
  EXPECT_TRUE(other.gave_up());
}

thread_local const void* t_kept = nullptr;

TEST(ThreadVariables, AreTheCallingThreadsOwn) {
  const LoadedObject program = own_object();
  ASSERT_NE(program.tls_module, 0u);
  const auto offset = [&] {
    return reinterpret_cast<const uintptr_t*>(&t_kept) - thread_variables(program.tls_module, program.tls_bytes).words;
  };
  const auto here = offset();
  EXPECT_GE(here, 0);
  EXPECT_LT(uint64_t(here), thread_variables(program.tls_module, program.tls_bytes).count);
  std::thread([&] { EXPECT_EQ(offset(), here); }).join();
  EXPECT_EQ(thread_variables(0, 0).words, nullptr);
}

}  // namespace
}  // namespace tensorscope
