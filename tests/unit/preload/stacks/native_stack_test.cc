// SPDX-License-Identifier: Apache-2.0
// Covers: preload/stacks/native/{interpreter_code,libunwind_accessors,libunwind_loader}.cc
// Covers: preload/stacks/{id_index,own_frames,thread_stack}.cc
#include "stacks/native/native_stack.h"

#include <alloca.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "native_test_support.h"
#include "reused_address.h"
#include "support/coverage.h"

namespace tensorscope::stacks {
namespace {

// The numbers of the descriptors that are open.
std::set<std::string> open_descriptors() {
  std::set<std::string> numbers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    numbers.insert(entry.path().filename());
  return numbers;
}

class NativeStack : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto before = open_descriptors();
    start_native();
#if !defined(__SANITIZE_THREAD__)  // under it, libunwind is started without descriptors of its own
    EXPECT_EQ(open_descriptors(), before);
#endif
  }
};

#define EXPECT_SAME_STACKS(both)        \
  do {                                  \
    const BothStacks b = (both);        \
    EXPECT_GT(b.reference.size(), 3u);  \
    EXPECT_EQ(b.captured, b.reference); \
    EXPECT_EQ(b.in_full, b.reference);  \
  } while (false)

TEST_F(NativeStack, IsOn) { EXPECT_EQ(coverage(Subject::native_stacks).seen.load(), Seen::yes); }

TEST_F(NativeStack, EqualsLibunwind) {
  for (int i = 0; i < 5; ++i) EXPECT_SAME_STACKS(both_stacks());
}

__attribute__((noinline)) int recurse(int depth) {
  if (depth == 0) {
    EXPECT_SAME_STACKS(both_stacks());
    return 0;
  }
  const int below = recurse(depth - 1);
  asm volatile("" : : "r"(below));  // keeps the compiler from making a loop of it
  return below + 1;
}

TEST_F(NativeStack, Recursion) {
  for (int depth : {0, 1, 50, 3, 200, 199, 200, 2}) EXPECT_EQ(recurse(depth), depth);
}

TEST_F(NativeStack, SamePlaceIsSameId) {
  StackId ids[3];
  for (StackId& id : ids) id = capture_native(nullptr);
  EXPECT_NE(ids[0], 0u);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[0], ids[2]);
}

TEST_F(NativeStack, BeginsWithTheCaller) {
  const auto captured = addresses_of(capture_native(nullptr));
  ASSERT_FALSE(captured.empty());
  const auto here = reinterpret_cast<uint64_t>(__builtin_extract_return_addr(__builtin_return_address(0)));
  EXPECT_EQ(captured[1], here);
}

TEST_F(NativeStack, ManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const StackId first = capture_native(nullptr), second = capture_native(nullptr);
        const auto a = addresses_of(first), b = addresses_of(second);
        if (a.size() < 3 || a.size() != b.size() || !std::equal(a.begin() + 1, a.end(), b.begin() + 1)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(NativeStack, OutsideTheMainThread) {
  std::thread([] { EXPECT_SAME_STACKS(both_stacks()); }).join();
}

// Frames whose size is only known at run time, so that their CFA is relative to RBP.
__attribute__((noinline)) int with_alloca(size_t bytes, int depth) {
  volatile char* memory = static_cast<volatile char*>(alloca(bytes + 1));
  memory[0] = 1;
  if (depth > 0) return with_alloca(bytes * 2 % 977 + 1, depth - 1) + memory[0];
  EXPECT_SAME_STACKS(both_stacks());
  return memory[0];
}

TEST_F(NativeStack, Alloca) {
  const uint64_t by_libunwind = native_counts().by_libunwind;
  for (int i = 1; i < 200; ++i) with_alloca(size_t(i) * 7, i % 9);
  EXPECT_EQ(native_counts().by_libunwind, by_libunwind);
}

// A function that realigns its stack, as vector code does: its CFA is an expression.
__attribute__((noinline, target("avx2"))) int with_realigned_stack(int depth) {
  alignas(64) volatile char memory[64];
  memory[depth] = 1;
  if (depth > 0) return with_realigned_stack(depth - 1) + memory[depth];
  return with_alloca(100, 1) + memory[depth];
}

TEST_F(NativeStack, RealignedStack) {
  const uint64_t by_libunwind = native_counts().by_libunwind;
  for (int i = 0; i < 100; ++i) with_alloca(size_t(i) * 16 + 1, 0), with_realigned_stack(i % 5);
  EXPECT_EQ(native_counts().by_libunwind, by_libunwind);
}

// A tree of calls in pseudo-random order: most captures share only a part with the one before.
template <int kKind>
__attribute__((noinline)) int tree(uint32_t& random, int depth) {
  volatile uint64_t locals[kKind * 3 + 1];
  locals[0] = uint64_t(depth);
  random = random * 1664525 + 1013904223;
  if (depth == 0 || random >> 29 == 0) {
    EXPECT_SAME_STACKS(both_stacks());
    return 1;
  }
  int sum = 0;
  for (int i = 0; i < 2; ++i) {
    switch (random >> 30) {
      case 0:
        sum += tree<0>(random, depth - 1);
        break;
      case 1:
        sum += tree<1>(random, depth - 1);
        break;
      case 2:
        sum += tree<2>(random, depth - 1);
        break;
      default:
        sum += tree<3>(random, depth - 1) + with_alloca(random >> 24, 1);
    }
  }
  return sum + int(locals[0]);
}

TEST_F(NativeStack, TreeOfCalls) {
  const uint64_t by_libunwind = native_counts().by_libunwind;
  uint32_t random = 7;
  tree<0>(random, 11);
  EXPECT_EQ(native_counts().by_libunwind, by_libunwind);
}

__attribute__((noinline)) void throws(int depth) {
  if (depth > 0) throws(depth - 1);
  EXPECT_SAME_STACKS(both_stacks());
  throw depth;
}

TEST_F(NativeStack, ExceptionsBetweenCaptures) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(throws(i % 7), int);
    try {
      throws(2);
    } catch (int) {
      EXPECT_SAME_STACKS(both_stacks());
    }
  }
}

jmp_buf g_jump;
[[noreturn]] __attribute__((noinline)) void jumps(int depth) {
  if (depth > 0) jumps(depth - 1);  // the call is the last instruction of the function
  EXPECT_SAME_STACKS(both_stacks());
  longjmp(g_jump, 1);
}

TEST_F(NativeStack, LongjmpAndNoreturn) {
  static int i;  // not in a register that longjmp would restore
  for (i = 0; i < 20; ++i) {
    if (setjmp(g_jump) == 0) jumps(i % 5);
    EXPECT_SAME_STACKS(both_stacks());
  }
}

void on_signal(int) { EXPECT_SAME_STACKS(both_stacks()); }

TEST_F(NativeStack, SignalFramesAreLeftToLibunwind) {
  signal(SIGUSR2, on_signal);
  const uint64_t by_libunwind = native_counts().by_libunwind;
  for (int i = 0; i < 3; ++i) {
    raise(SIGUSR2);
    EXPECT_SAME_STACKS(both_stacks());
  }
  signal(SIGUSR2, SIG_DFL);
  EXPECT_EQ(native_counts().by_libunwind, by_libunwind + 6);
}

TEST_F(NativeStack, AlternateSignalStackIsLeftToLibunwind) {
  std::vector<char> memory(256 * 1024);
  stack_t alternate{}, before{};
  alternate.ss_sp = memory.data();
  alternate.ss_size = memory.size();
  ASSERT_EQ(sigaltstack(&alternate, &before), 0);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  for (int i = 0; i < 3; ++i) raise(SIGUSR2);
  signal(SIGUSR2, SIG_DFL);
  sigaltstack(&before, nullptr);
  EXPECT_SAME_STACKS(both_stacks());
}

ucontext_t g_main_context, g_fiber_context;
void run_fiber() {
  for (;;) {
    const StackId id = capture_native(nullptr);
    EXPECT_NE(id, 0u);
    EXPECT_EQ(addresses_of(id).size(), addresses_of(capture_native(nullptr)).size());
    swapcontext(&g_fiber_context, &g_main_context);
  }
}

TEST_F(NativeStack, FibersAreLeftToLibunwind) {
  std::vector<char> memory(256 * 1024);
  getcontext(&g_fiber_context);
  g_fiber_context.uc_stack.ss_sp = memory.data();
  g_fiber_context.uc_stack.ss_size = memory.size();
  g_fiber_context.uc_link = &g_main_context;
  makecontext(&g_fiber_context, run_fiber, 0);
  const uint64_t by_libunwind = native_counts().by_libunwind;
  for (int i = 0; i < 5; ++i) {
    swapcontext(&g_main_context, &g_fiber_context);
    EXPECT_SAME_STACKS(both_stacks());
  }
  EXPECT_EQ(native_counts().by_libunwind, by_libunwind + 10);
}

// The inner frames are the same words at the same places; only the outermost of them has another caller.
__attribute__((noinline)) void either(bool first) {
  if (first) {
    recurse(12);
    asm volatile("" : : : "memory");
  } else {
    recurse(12);
    asm volatile("nop" : : : "memory");
  }
}

TEST_F(NativeStack, SameInnerFramesUnderAnotherCaller) {
  for (int i = 0; i < 40; ++i) either(i % 3 == 0);
}

// Stands for the interpreter's evaluation function; the linker gives the section's two ends names.
extern "C" const char __start_evaluation_code, __stop_evaluation_code;
__attribute__((noinline, section("evaluation_code"))) BothStacks evaluate(const Activation& activation) {
  const BothStacks both = both_stacks(activation);
  asm volatile("" : : : "memory");
  return both;
}

__attribute__((noinline)) BothStacks between(const Activation& activation) {
  const BothStacks both = evaluate(activation);
  asm volatile("" : : : "memory");
  return both;
}

// Two callers of one depth.
__attribute__((noinline)) BothStacks beneath(bool first, const Activation& activation) {
  BothStacks both;
  if (first) {
    both = between(activation);
    asm volatile("" : : : "memory");
  } else {
    both = between(activation);
    asm volatile("nop" : : : "memory");
  }
  return both;
}

TEST_F(NativeStack, FramesAroundAnActivationAreComparedNowAndThen) {
  InterpreterCode code;
  code.evaluation = {reinterpret_cast<uint64_t>(&__start_evaluation_code),
                     reinterpret_cast<uint64_t>(&__stop_evaluation_code)};
  code.objects[0] = {0, ~uint64_t{0}};
  native_trusts(code);
  // Captures are counted by thread.
  std::thread([] {
    const char frames[2] = {};
    const Activation one = {&frames[0], &frames[0], 0}, other = {&frames[1], &frames[0], 0};
    for (const bool first : {true, false, true}) EXPECT_SAME_STACKS(beneath(first, first ? one : other));

    // What no interpreter does: the same activation with another caller. It is missed until all is compared.
    BothStacks both = beneath(false, one);
    EXPECT_NE(both.captured, both.reference);
    EXPECT_EQ(both.captured.size(), both.reference.size());
    const uint64_t before = native_counts().outer_differed;
    for (uint32_t i = 0; i < kVerifyEvery; ++i) both = beneath(false, one);
    EXPECT_EQ(native_counts().outer_differed, before + 1);
    EXPECT_SAME_STACKS(both);
    for (const bool first : {true, false, true}) EXPECT_SAME_STACKS(beneath(first, one));
  }).join();
  EXPECT_NE(strstr(coverage(Subject::native_stacks).detail.load(), "differed once"), nullptr);
}

__attribute__((noinline)) int go_deep(int depth) {
  if (depth > 0) {
    const int below = go_deep(depth - 1);
    asm volatile("" : : "r"(below));
    return below + 1;
  }
  const BothStacks both = both_stacks();
  EXPECT_EQ(both.captured.size(), 1023u);  // 1024 with that of both_stacks()
  EXPECT_TRUE(std::equal(both.captured.begin(), both.captured.end(), both.reference.begin()));
  return 0;
}

TEST_F(NativeStack, DeepStacksAreCutAtTheOuterEnd) {
  go_deep(1500);
  go_deep(1501);
  EXPECT_EQ(coverage(Subject::native_stacks).seen.load(), Seen::partly);
  EXPECT_SAME_STACKS(both_stacks());
}

// Code that no unwind table describes, as a just-in-time compiler makes it.
TEST_F(NativeStack, CodeWithoutUnwindTable) {
  constexpr uint8_t kKeepsFramePointer[] = {0x55, 0x48, 0x89, 0xe5,
                                            0xff, 0xd7, 0x5d, 0xc3};          // push; mov; call *%rdi; pop; ret
  constexpr uint8_t kUsesRbp[] = {0x55, 0x31, 0xed, 0xff, 0xd7, 0x5d, 0xc3};  // push; xor; call *%rdi; pop; ret
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(code, MAP_FAILED);
  memcpy(code, kKeepsFramePointer, sizeof kKeepsFramePointer);
  const uint64_t by_libunwind = native_counts().by_libunwind;
  void (*capture)() = [] {
    const BothStacks both = both_stacks();
    EXPECT_EQ(both.captured, both.reference);
  };
  for (int i = 0; i < 3; ++i) reinterpret_cast<void (*)(void (*)())>(code)(capture);
  memcpy(code, kUsesRbp, sizeof kUsesRbp);
  for (int i = 0; i < 3; ++i) reinterpret_cast<void (*)(void (*)())>(code)(capture);
  EXPECT_EQ(native_counts().by_libunwind, by_libunwind);
  munmap(code, 4096);
  EXPECT_SAME_STACKS(both_stacks());
}

// What libunwind and the rules have cached of a closed library does not hold for another one at its addresses.
TEST_F(NativeStack, LibraryAtTheAddressesOfAClosedOne) {
  using CallBack = void (*)(void (*)());
  static std::vector<uint64_t> captured;
  const auto frames_beyond = [](void* library) {
    const auto call_back = reinterpret_cast<CallBack>(dlsym(library, "call_back"));
    call_back([] { captured = addresses_of(capture_native(nullptr)); });
    const auto its_own = [&](uint64_t address) {
      Dl_info mine, frames;
      return dladdr(reinterpret_cast<void*>(call_back), &mine) != 0 &&
             dladdr(reinterpret_cast<void*>(address), &frames) != 0 && frames.dli_fbase == mine.dli_fbase;
    };
    auto beyond = std::find_if(captured.begin(), captured.end(), its_own);
    return std::vector<uint64_t>(std::find_if_not(beyond, captured.end(), its_own), captured.end());
  };
  void* const first = dlopen(getenv("CLOSABLE_FRAMES_24"), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(first, nullptr) << dlerror();
  Dl_info where;
  ASSERT_NE(dladdr(dlsym(first, "inner"), &where), 0);
  void* library = first;
  std::vector<uint64_t> expected;
  for (int i = 0; i < 4; ++i) {
    const auto frames = frames_beyond(library);
    if (i == 0) expected = frames;
    EXPECT_GT(frames.size(), 3u);
    EXPECT_EQ(frames, expected);
    if (i != 1) continue;
    dlclose(library);
    library = open_at(getenv("CLOSABLE_FRAMES_104"), "inner", where.dli_fbase);
    ASSERT_NE(library, nullptr);
  }
  dlclose(library);
}

TEST_F(NativeStack, ForgettingTheRulesChangesNothing) {
  const auto before = both_stacks();
  native_forget_unloaded();
  const auto after = both_stacks();
  EXPECT_EQ(std::vector(before.captured.begin() + 1, before.captured.end()),
            std::vector(after.captured.begin() + 1, after.captured.end()));
}

TEST_F(NativeStack, ForkedChildGoesOn) {
  const pid_t child = fork();
  if (child == 0) {
    native_after_fork_in_child();
    const BothStacks both = both_stacks();
    _exit(both.captured.size() > 3 && both.captured == both.reference ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class NothingDisagreed : public testing::Environment {
  void TearDown() override {
    EXPECT_GT(native_counts().checked, 0u);
    EXPECT_EQ(native_counts().disagreed, 0u);
    EXPECT_TRUE(native_counts().by_rules);
  }
};
[[maybe_unused]] testing::Environment* const g_nothing_disagreed =
    testing::AddGlobalTestEnvironment(new NothingDisagreed);

}  // namespace
}  // namespace tensorscope::stacks
