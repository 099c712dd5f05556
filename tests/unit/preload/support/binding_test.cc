// SPDX-License-Identifier: Apache-2.0
// What a caller is bound to where two versions of a library are loaded.
#include "support/binding.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace tensorscope::hooks {
namespace {

using Version = int (*)();

// A function of a library that is opened privately.
void* open_caller(const char* variable) {
  void* library = dlopen(getenv(variable), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library ? dlsym(library, "fake_call_runtime") : nullptr;
}

TEST(Binding, FollowsTheVersionThatTheCallerAsksFor) {
  void* const newer = open_caller("FAKE_CALLER_13");
  void* const older = open_caller("FAKE_CALLER_12");
  ASSERT_TRUE(newer && older);
  for (void* caller : {newer, older}) {
    const Binding binding = find_binding("fake_runtime_version", caller);
    ASSERT_NE(binding.function, nullptr);
    EXPECT_TRUE(binding.caller.contains(caller));
    EXPECT_EQ(reinterpret_cast<Version>(binding.function)(), reinterpret_cast<Version>(caller)());
  }
  EXPECT_NE(find_binding("fake_runtime_version", newer).function, find_binding("fake_runtime_version", older).function);
}

TEST(Binding, TakesTheCallersOwnDefinitionFirst) {
  void* const newer = open_caller("FAKE_CALLER_13");
  void* const own = find_binding("fake_runtime_version", newer).function;
  EXPECT_EQ(find_binding("fake_runtime_version", own).function, own);
}

TEST(Binding, OfACallerWithoutAReferenceIsTheFirstInLoadOrder) {
  open_caller("FAKE_CALLER_13");
  open_caller("FAKE_CALLER_12");
  const Binding binding = find_binding("fake_runtime_version", reinterpret_cast<void*>(&open_caller));
  ASSERT_NE(binding.function, nullptr);
  EXPECT_EQ(reinterpret_cast<Version>(binding.function)(), 13);
  int on_stack = 0;
  EXPECT_FALSE(find_binding("fake_runtime_version", &on_stack).caller);
  EXPECT_EQ(find_binding("fake_runtime_version", &on_stack).function, binding.function);
}

TEST(Binding, OfWhatNobodyDefinesIsNull) {
  EXPECT_EQ(find_binding("fake_no_such_function", reinterpret_cast<void*>(&open_caller)).function, nullptr);
}

}  // namespace
}  // namespace tensorscope::hooks
