// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/same_names.h"

#include <gtest/gtest.h>

namespace tensorscope::rules {
namespace {

using format::ReferenceRole;
using format::ReferenceRoot;

Reference named(ReferenceRoot root, std::string_view text, std::string_view scope) {
  return {root, ReferenceRole::plain, text, scope, "list"};
}

const Reference kLocal = named(ReferenceRoot::local, "seen[0]", "run");
const Reference kWaits = named(ReferenceRoot::suspended, "seen[0]", "producer");
constexpr Beginning kMain = {1, 1, 0}, kInner = {1, 2, 0}, kLoader = {2, 1, 0};
constexpr Beginning kOne = {0, 0, 0x7f10}, kTwo = {0, 0, 0x7f00};

TEST(SameNames, OneHolderHasNothingToTellApart) {
  SameNames names;
  names.add(kLocal, kMain);
  names.add(kLocal, kMain);
  names.add(kWaits, kOne);
  EXPECT_EQ(names.which(kLocal, kMain), "");
  EXPECT_EQ(names.which(kWaits, kOne), "");
}

TEST(SameNames, WhatIsNotKnownIsNotToldApart) {
  SameNames names;
  names.add(kWaits, kOne);
  names.add(kWaits, {});
  EXPECT_EQ(names.which(kWaits, kOne), "");
  EXPECT_EQ(names.which(kWaits, {}), "");
}

TEST(SameNames, CallsByThreadAndDepth) {
  SameNames names;
  names.add_thread("MainThread", 1);
  names.add_thread("loader", 2);
  for (const Beginning& each : {kMain, kInner, kLoader}) names.add(kLocal, each);
  EXPECT_EQ(names.which(kLocal, kInner), "thread MainThread, call 2");
  EXPECT_EQ(names.which(kLocal, kLoader), "thread loader, call 1");
  // A variable of the same call has the same addition.
  EXPECT_EQ(names.which(named(ReferenceRoot::local, "other", "run"), kLoader), "thread loader, call 1");
}

TEST(SameNames, ThreadsOfOneNameByTheirNumbers) {
  SameNames names;
  names.add_thread("worker", 1);
  names.add_thread("worker", 2);
  names.add(kLocal, kMain);
  names.add(kLocal, kLoader);
  EXPECT_EQ(names.which(kLocal, kMain), "thread worker #1");
  EXPECT_EQ(names.which(kLocal, {9, 1, 0}), "thread #9");
}

TEST(SameNames, ObjectsByTheirOrder) {
  SameNames names;
  names.add(kWaits, kOne);
  names.add(kWaits, kTwo);
  names.add(kWaits, kOne);
  EXPECT_EQ(names.which(kWaits, kOne), "#1");
  EXPECT_EQ(names.which(kWaits, kTwo), "#2");
}

// A cost of objects times objects would take minutes here.
TEST(SameNames, ManyObjectsOfOneName) {
  constexpr uint64_t kMany = 200'000;
  SameNames names;
  for (uint64_t i = 1; i <= kMany; ++i) names.add(kWaits, {0, 0, i});
  EXPECT_EQ(names.which(kWaits, {0, 0, kMany}), "#200000");
}

TEST(SameNames, OtherNamesAndRootsAreOthers) {
  SameNames names;
  const Reference in_class = named(ReferenceRoot::class_, "Net.cache[0]", "train");
  names.add(in_class, kOne);
  names.add(named(ReferenceRoot::class_, "Other.cache[0]", "train"), kTwo);
  names.add(named(ReferenceRoot::class_, "Net.cache[1]", "model"), kTwo);
  EXPECT_EQ(names.which(in_class, kOne), "");
  names.add(named(ReferenceRoot::class_, "Net.table", "train"), kTwo);
  EXPECT_EQ(names.which(in_class, kOne), "#1");
}

// A generator that has ended and one that has its address or comes after it are one holder's name over time.
TEST(SameNames, WhatIsNeverThereAtOnceIsOneNameAndWhatOneDumpHasTwiceIsToldApartInAll) {
  SameNames names;
  names.add(kWaits, kOne);
  names.next_dump();
  names.add(kWaits, kTwo);
  EXPECT_EQ(names.which(kWaits, kTwo), "");
  names.next_dump();
  names.add(kWaits, kTwo);
  names.add(kWaits, kOne);
  EXPECT_EQ(names.which(kWaits, kOne), "#1");
}

}  // namespace
}  // namespace tensorscope::rules
