// SPDX-License-Identifier: Apache-2.0
#include "collector/written_dumps.h"

#include <gtest/gtest.h>

#include <string>

#include "support/fresh_in_child.h"

namespace tensorscope::collector {
namespace {

std::string kind_of(Reason reason) {
  char kind[32];
  dump_kind(reason, kind);
  return kind;
}

// A name is of the next dump of its kind, and no kind moves the number of another.
TEST(WrittenDumps, EachKindHasItsNumbers) {
  FreshInChild::make_all_anew();
  count_dump(Reason::out_of_memory);
  count_dump(Reason::low_memory);
  count_dump(Reason::low_memory);
  count_dump(Reason::signal);
  count_dump(Reason::exit);
  EXPECT_EQ(kind_of(Reason::out_of_memory), "oom-2");
  EXPECT_EQ(kind_of(Reason::low_memory), "low-memory-3");
  EXPECT_EQ(kind_of(Reason::growth), "growth-1");
  EXPECT_EQ(kind_of(Reason::exit), "exit");
  EXPECT_EQ(kind_of(Reason::signal), "");
  EXPECT_EQ(written_dumps().asked_for, 1u);
  EXPECT_EQ(written_dumps().all, 5u);
}

TEST(WrittenDumps, AForkedChildBeginsWithNone) {
  for (const Reason reason : {Reason::out_of_memory, Reason::low_memory, Reason::growth, Reason::call})
    count_dump(reason);
  written_dumps().last_live = 5;
  written_dumps().named[0] = '/';
  written_dumps().named_ns = 7;
  FreshInChild::make_all_anew();
  EXPECT_EQ(kind_of(Reason::out_of_memory), "oom-1");
  EXPECT_EQ(kind_of(Reason::low_memory), "low-memory-1");
  EXPECT_EQ(kind_of(Reason::growth), "growth-1");
  EXPECT_EQ(written_dumps().asked_for, 0u);
  EXPECT_EQ(written_dumps().all, 0u);
  EXPECT_EQ(written_dumps().last_live, -1);
  EXPECT_STREQ(written_dumps().named, "");
  EXPECT_EQ(written_dumps().named_ns, 0u);
}

}  // namespace
}  // namespace tensorscope::collector
