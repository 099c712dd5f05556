// SPDX-License-Identifier: Apache-2.0
#include "support/loaded_object.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "fake_torch.h"

namespace tensorscope {
namespace {

TEST(LoadedObject, AgreesWithTheLoader) {
  const LoadedObject libc = find_object("libc.so");
  ASSERT_TRUE(libc);
  void* handle = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_NOW);
  // Not "memcpy" and its like: those are chosen when they are bound.
  for (const char* name : {"malloc", "getenv", "sigaction", "qsort", "environ", "pthread_create"}) {
    EXPECT_EQ(libc.find(name), dlsym(handle, name)) << name;
  }
  for (const char* name : {"", "no_such_function", "mallo", "mallocx"}) EXPECT_EQ(libc.find(name), nullptr) << name;
}

TEST(LoadedObject, TakesTheDefaultVersion) {
  const LoadedObject libc = find_object("libc.so");
  void* handle = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_NOW);
  const char* const names[] = {"pthread_cond_wait", "posix_spawn", "realpath", "fmemopen", "regexec"};
  for (const char* name : names) EXPECT_EQ(libc.find(name), dlsym(handle, name)) << name;
}

TEST(LoadedObject, FindsByBeginOfTheFileName) {
  EXPECT_FALSE(find_object("libc10_cuda.so"));
  const LoadedObject c10 = find_object("libc10.so");
  ASSERT_TRUE(c10);
  EXPECT_NE(strstr(c10.path, "libc10.so"), nullptr);
  EXPECT_TRUE(c10.contains(c10.find("_ZN3c109alloc_cpuEm")));
  EXPECT_FALSE(c10.symbolic);
}

TEST(LoadedObject, IgnoresItself) {
  EXPECT_TRUE(own_object());
  // The program of this test is what contains the code under test.
  EXPECT_FALSE(find_object(""));
  EXPECT_EQ(find_in_any_object("tensorscope_test_own_symbol"), nullptr);
  EXPECT_NE(own_object().find("tensorscope_test_own_symbol"), nullptr);
  EXPECT_EQ(find_in_any_object("_ZN3c109alloc_cpuEm"), find_object("libc10.so").find("_ZN3c109alloc_cpuEm"));
}

TEST(LoadedObject, FindsWhatWasOpenedPrivately) {
  EXPECT_EQ(find_in_any_object("fake_allocate"), nullptr);
  void* library = dlopen(getenv("FAKE_TORCH_CPU"), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "fake_allocate"), nullptr);
  EXPECT_EQ(find_in_any_object("fake_allocate"), dlsym(library, "fake_allocate"));
}

TEST(LoadedObject, KnowsReferencesToo) {
  const LoadedObject program = own_object();
  const uint32_t reference = program.symbol_index("_ZN3c109alloc_cpuEm");
  ASSERT_NE(reference, 0u);
  EXPECT_STREQ(program.strings + program.symbols[reference].st_name, "_ZN3c109alloc_cpuEm");
  EXPECT_EQ(program.find("_ZN3c109alloc_cpuEm"), nullptr);
  EXPECT_EQ(program.symbol_index("no_such_function"), 0u);
  EXPECT_EQ(call_alloc_cpu(1, 0, 0, 0, 0, 0), kResult);
}

}  // namespace
}  // namespace tensorscope

extern "C" int tensorscope_test_own_symbol;
__attribute__((visibility("default"))) int tensorscope_test_own_symbol = 1;
