// SPDX-License-Identifier: Apache-2.0
// This program stands for the preload: it defines what the stand-in for libc10 is hooked for, so its slots are "ours".
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "fake_torch.h"
#include "hooks/self_check.h"

#define HOOK(id, symbol, ...) \
  Word call_##id(Word, Word, Word, Word, Word, Word) { return kResult; }
FAKE_C10_HOOKS(HOOK)
#undef HOOK

namespace tensorscope::hooks {
namespace {

// A library is looked at anew until all of its slots are bound; what was counted before is not counted again.
TEST(SelfCheck, ALibraryThatIsLookedAtTwiceHasWhatItHasOnce) {
  ASSERT_NE(dlopen(getenv("FAKE_C10_UNBOUND"), RTLD_LAZY), nullptr) << dlerror();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(run_self_check()) << "check " << i;
    EXPECT_TRUE(destruction_is_seen()) << "check " << i;
  }
}

}  // namespace
}  // namespace tensorscope::hooks
