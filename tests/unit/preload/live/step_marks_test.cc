// SPDX-License-Identifier: Apache-2.0
// Covers: preload/live/step_marks.cc preload/live/step_count.cc
#include "live/step_marks.h"

#include <gtest/gtest.h>

#include "live/serials.h"
#include "support/fresh_in_child.h"

namespace tensorscope::live {
namespace {

// One process, one table: the tests go on where the one before ended, from the weakest source to the strongest.
void end_steps(StepSource source, uint64_t steps, uint64_t serials = 10) {
  for (uint64_t i = 0; i < steps; ++i) {
    for (uint64_t k = 0; k < serials; ++k) next_serial();
    step_ended(source);
  }
}

TEST(StepMarks, ABackwardPassAndAForwardPassAreAStep) {
  EXPECT_EQ(step_marks(newest_serial()).source, StepSource::none);
  EXPECT_FALSE(backward_ran());
  next_serial();
  backward_runs();
  backward_runs();
  EXPECT_TRUE(backward_ran());
  forward_after_backward();
  EXPECT_FALSE(backward_ran());
  forward_after_backward();
  const StepMarks marks = step_marks(newest_serial());
  EXPECT_EQ(marks.source, StepSource::backward);
  EXPECT_EQ(marks.count, 1U);
  EXPECT_EQ(marks.every, 1U);
  EXPECT_EQ(marks.ends, std::vector<Serial>{newest_serial()});
}

TEST(StepMarks, ABetterSourceBeginsAnew) {
  end_steps(StepSource::optimizer, 3);
  end_steps(StepSource::backward, 5);
  const StepMarks marks = step_marks(newest_serial());
  EXPECT_EQ(marks.source, StepSource::optimizer);
  EXPECT_EQ(marks.count, 3U);
  ASSERT_EQ(marks.ends.size(), 3U);
  EXPECT_EQ(marks.ends[2] - marks.ends[1], 10U);
}

TEST(StepMarks, StepsWithNothingBetweenThemHaveOneMark) {
  step_ended(StepSource::mark);
  step_ended(StepSource::mark);
  const StepMarks marks = step_marks(newest_serial());
  EXPECT_EQ(marks.count, 2U);
  EXPECT_EQ(marks.ends.size(), 1U);
}

TEST(StepMarks, MarksOfLaterThanTheDumpAreLeftOut) {
  const Serial then = newest_serial();
  end_steps(StepSource::mark, 1);
  EXPECT_EQ(step_marks(then).ends.size(), 1U);
  EXPECT_EQ(step_marks(then).last_end, 0U);
  EXPECT_EQ(step_marks(newest_serial()).ends.size(), 2U);
  EXPECT_EQ(step_marks(newest_serial()).last_end, newest_serial());
}

TEST(StepMarks, OfManyStepsEverySecondOneStaysThenEveryFourth) {
  const auto up_to = [](uint64_t count) { end_steps(StepSource::mark, count - step_marks(newest_serial()).count); };
  up_to(kMaxStepMarks);
  EXPECT_EQ(step_marks(newest_serial()).every, 1U);
  for (const uint64_t every : {2, 4, 8}) {
    up_to(kMaxStepMarks * every / 2 + 1);
    const StepMarks marks = step_marks(newest_serial());
    EXPECT_EQ(marks.every, every);
    EXPECT_EQ(marks.ends.size(), kMaxStepMarks / 2 + 1);
    EXPECT_EQ(marks.ends.back(), newest_serial());
    for (size_t i = 2; i < marks.ends.size(); ++i) ASSERT_EQ(marks.ends[i] - marks.ends[i - 1], 10 * every) << i;
    end_steps(StepSource::mark, 1);
    EXPECT_LT(step_marks(newest_serial()).ends.back(), newest_serial());
    EXPECT_EQ(step_marks(newest_serial()).last_end, newest_serial());
  }
}

TEST(StepMarks, AForkedChildHasNone) {
  backward_runs();
  FreshInChild::make_all_anew();
  EXPECT_FALSE(backward_ran());
  EXPECT_EQ(step_marks(newest_serial()).source, StepSource::none);
  end_steps(StepSource::backward, 2);
  const StepMarks marks = step_marks(newest_serial());
  EXPECT_EQ(marks.count, 2U);
  EXPECT_EQ(marks.ends.size(), 2U);
}

}  // namespace
}  // namespace tensorscope::live
