// SPDX-License-Identifier: Apache-2.0
// Run with libtensorscope.so preloaded, on stand-ins for torch's libraries: a hook is invisible to who calls it.
// Covers: preload/hooks/{activation,real_function,slots}.cc
// Covers: preload/hooks/torch/{tensor_impl,cpu_allocator,memory_report}.cc
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "fake_torch.h"
#include "tensorscope/tensorscope.h"

namespace {

void expect_forwarded(Word (*function)(Word, Word, Word, Word, Word, Word), const char* symbol) {
  static Word objects[2] = {};
  const Word first = Word(&objects[0]);
  const Word second = Word(&objects[1]);
  const Word result = function(first, second, 0x3333'3333'3333, 0x4444'4444'4444, 0x5555'5555'0000, 0x6666'6666'6666);
  EXPECT_EQ(result, kResult) << symbol;
  EXPECT_STREQ(g_last_call.symbol, symbol);
  const Word expected[6] = {first, second, 0x3333'3333'3333, 0x4444'4444'4444, 0x5555'5555'0000, 0x6666'6666'6666};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(g_last_call.arguments[i], expected[i]) << symbol << ", argument " << i;
}

bool is_in_the_preload(void* function) {
  Dl_info information = {};
  return dladdr(function, &information) &&
         std::string(information.dli_fname).find("libtensorscope") != std::string::npos;
}

TEST(Hooks, StandBeforeTheLibrary) {
#define CHECK(id, ...) EXPECT_TRUE(is_in_the_preload(reinterpret_cast<void*>(call_##id))) << #id;
  FAKE_C10_HOOKS(CHECK)
#undef CHECK
}

TEST(Hooks, ForwardSixRegistersAndTheResult) {
#define CHECK(id, symbol, ...) expect_forwarded(call_##id, #symbol);
  FAKE_C10_HOOKS(CHECK)
#undef CHECK
}

TEST(Hooks, LetExceptionsPass) {
  g_failing_argument = 77;
  const Word no_storage = 0;  // constructors look at the storage that they are given
#define CHECK(id, symbol, ...)                    \
  try {                                           \
    call_##id(77, Word(&no_storage), 0, 0, 0, 0); \
    ADD_FAILURE() << #id << " returned";          \
  } catch (const Failure& failure) {              \
    EXPECT_EQ(failure.argument, 77u);             \
  }
  // Not those that look into their first argument.
  TENSORSCOPE_TENSOR_CONSTRUCTORS_WITH_STORAGE(CHECK)
  TENSORSCOPE_OTHER_TENSOR_CONSTRUCTORS(CHECK)
  TENSORSCOPE_CPU_ALLOCATOR_HOOKS(CHECK)
#undef CHECK
  g_failing_argument = ~Word{0};
  EXPECT_EQ(call_alloc_cpu(8, 0, 0, 0, 0, 0), kResult);
}

TEST(Hooks, FindTheirFunctionInALibraryOpenedLaterAndPrivately) {
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "fake_set_gradient_edge"), nullptr);
  void* library = dlopen(getenv("FAKE_TORCH_CPU"), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  using SetEdge = Word (*)(const void*, const void*);
  const auto set_edge = reinterpret_cast<SetEdge>(dlsym(library, "fake_set_gradient_edge"));
  ASSERT_NE(set_edge, nullptr);
  const void* const node = nullptr;
  const void* const tensor = &node;
  const void* const edge[2] = {};
  EXPECT_EQ(set_edge(&tensor, &edge), kResult);
  EXPECT_EQ(g_last_call.arguments[0], Word(&tensor));
  EXPECT_EQ(g_last_call.arguments[1], Word(&edge));
  EXPECT_EQ(g_last_call.arguments[5], 6u);
}

// Without the preload the loader would say this when the name is bound, and end the program in the same way.
TEST(HooksDeathTest, EndAsTheLoaderDoesWhereNothingDefinesTheName) {
  void* library = dlopen(getenv("FAKE_TORCH_CPU"), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto call_missing = reinterpret_cast<Word (*)()>(dlsym(library, "fake_missing_function"));
  ASSERT_NE(call_missing, nullptr);
  EXPECT_EXIT(
      call_missing(), testing::ExitedWithCode(127),
      "tensorscope: symbol lookup error: undefined symbol: _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
}

}  // namespace
