// SPDX-License-Identifier: Apache-2.0
// Which interpreters are used, by what Py_GetVersion() says of itself: texts of real builds.
// Covers: preload/python/interpreter.cc
#include "python/interpreter.h"

#include <gtest/gtest.h>

namespace tensorscope::python {
namespace {

TEST(UsableSeries, OfCPythonWithAGil) {
  EXPECT_EQ(usable_series("3.8.18 (default, May  9 2026, 07:33:04) \n[GCC 12.2.0]"), 308);
  EXPECT_EQ(usable_series("3.11.7 (main, May  9 2026, 07:35:25) [GCC 12.2.0]"), 311);
  EXPECT_EQ(usable_series("3.13.0 (main, May  9 2026, 07:36:57) [GCC 12.2.0]"), 313);
  EXPECT_EQ(usable_series("3.14.0rc2+ (heads/3.14:1f2a, Aug 30 2025, 10:00:00) [GCC 14.2.0]"), 314);
}

TEST(UsableSeries, UpToTheNewestThatWasTried) {
  EXPECT_EQ(usable_series("3.15.2 (main, Nov 10 2026, 10:00:00) [GCC 15.2.0]"), 315);
  EXPECT_EQ(usable_series("3.16.0a2 (main, Nov 20 2026, 10:00:00) [GCC 15.2.0]"), 0);
  EXPECT_EQ(usable_series("3.20.0 (main)"), 0);
}

TEST(UsableSeries, NotOfAFreeThreadedBuild) {
  EXPECT_EQ(usable_series("3.13.0 experimental free-threading build (main, Oct  7 2024, 10:00:00) [GCC 13.2.0]"), 0);
  EXPECT_EQ(usable_series("3.14.0 free-threading build (main, Oct 10 2025, 12:00:00) [GCC 14.2.0]"), 0);
}

TEST(UsableSeries, NotOfOlderOrOtherPythons) {
  EXPECT_EQ(usable_series("2.7.18 (default, May  9 2026, 07:30:00) \n[GCC 12.2.0]"), 0);
  EXPECT_EQ(usable_series("3.7.16 (default, May  9 2026, 07:32:00) \n[GCC 12.2.0]"), 0);
  EXPECT_EQ(usable_series("4.0.0 (main)"), 0);
  EXPECT_EQ(usable_series(""), 0);
}

}  // namespace
}  // namespace tensorscope::python
