// SPDX-License-Identifier: Apache-2.0
#include "hooks/self_check.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "fake_torch.h"
#include "support/coverage.h"

namespace tensorscope::hooks {
namespace {

TEST(CheckSlots, TellsOursFromForeign) {
  const void* const pointer = reinterpret_cast<const void*>(call_alloc_cpu);  // fills a slot of this program
  const LoadedObject program = own_object();
  const Slots ours = check_slots(program, "_ZN3c109alloc_cpuEm", pointer);
  EXPECT_GT(ours.ours, 0u);
  EXPECT_EQ(ours.foreign, 0u);
  const Slots foreign = check_slots(program, "_ZN3c109alloc_cpuEm", &pointer);
  EXPECT_EQ(foreign.ours, 0u);
  EXPECT_GT(foreign.foreign, 0u);
  EXPECT_EQ(check_slots(program, "no such symbol", &pointer).foreign, 0u);
}

// This program has the profiler in it but no hook: nothing that torch does would arrive.
TEST(SelfCheck, AnEmptyTableIsNotPassedOffAsAnEmptyProgram) {
  Word result = call_alloc_cpu(8, 0, 0, 0, 0, 0);
  EXPECT_EQ(result, kResult);
  EXPECT_FALSE(run_self_check());
  for (const Subject subject : {Subject::tensors, Subject::cpu_memory, Subject::mapped_memory}) {
    EXPECT_EQ(coverage(subject).seen.load(), Seen::no) << subject_name(subject);
    EXPECT_NE(strlen(coverage(subject).detail.load()), 0u);
  }
  EXPECT_EQ(coverage(Subject::cuda_memory).seen.load(), Seen::not_applicable);
  EXPECT_EQ(coverage(Subject::autograd).seen.load(), Seen::not_applicable);
  EXPECT_FALSE(destruction_is_seen());
}

}  // namespace
}  // namespace tensorscope::hooks
