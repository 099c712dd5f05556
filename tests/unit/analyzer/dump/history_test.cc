// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/dump/decode/history.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/reader.h"
#include "support/dump_builder.h"

namespace tensorscope::analyzer {
namespace {

using ::testing::Contains;
using testing::DumpBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Dump read(const DumpBuilder& builder) {
  const std::string bytes = builder.bytes();
  return read_dump_bytes(bytes.data(), bytes.size(), "x.tscope");
}

DumpBuilder with_history() {
  DumpBuilder builder;
  const auto source = format::StepSource::backward;
  builder.history_points = {{2'000'000'000, 1, 0, 1, format::MomentKind::step, source},
                            {3'000'000'000, 2, 4096, 2, format::MomentKind::step, source},
                            {61'000'000'000, 2, 0, 1, format::MomentKind::dump, source}};
  builder.history_levels = {{100, 300, 300}, {200, 400, 700}, {0, 200, 700}};
  return builder;
}

DumpBuilder with_peak() {
  DumpBuilder builder;
  const uint32_t site = builder.site(0, builder.python({{"train.py", "main", 3}}));
  builder.peak_ns = 3'000'000'000;
  builder.peak_bytes = 1100;
  builder.peak_sites = {{100, 1, 0}, {900, 3, site}};
  builder.peak_devices = {{1100, 0, -1}};
  builder.peak_other_sites = 2;
  builder.peak_other_bytes = 100;
  return builder;
}

void expect_refused(const DumpBuilder& builder, const char* what) {
  const Dump dump = read(builder);
  EXPECT_FALSE(dump.history.present() || dump.peak.present);
  EXPECT_THAT(dump.problems, Contains(HasSubstr(what)));
}

TEST(History, IsReadAsItWasWritten) {
  const Dump dump = read(with_history());
  EXPECT_THAT(dump.problems, IsEmpty());
  const History& history = dump.history;
  ASSERT_EQ(history.points.size(), 3u);
  EXPECT_EQ(history.devices, std::vector<Device>{kHost});
  EXPECT_EQ(history.points[1].step, 2u);
  EXPECT_EQ(history.points[1].resident, 4096u);
  EXPECT_EQ(history.points[1].moments, 2u);
  EXPECT_EQ(history.points[2].kind, MomentKind::dump);
  EXPECT_EQ(history.level(1, 0).live, 200u);
  EXPECT_EQ(history.level(1, 0).peak, 400u);
  EXPECT_EQ(history.level(2, 0).allocated, 700u);
}

TEST(History, ADumpWithoutOneHasNone) {
  const Dump dump = read(DumpBuilder());
  EXPECT_FALSE(dump.history.present());
  EXPECT_FALSE(dump.peak.present);
  EXPECT_THAT(dump.problems, IsEmpty());
}

TEST(History, WhatCannotBeIsRefused) {
  const auto refuses = [](void (*break_it)(DumpBuilder&)) {
    DumpBuilder builder = with_history();
    break_it(builder);
    expect_refused(builder, "impossible histories");
  };
  refuses([](DumpBuilder& builder) { builder.history_levels.pop_back(); });
  refuses([](DumpBuilder& builder) { builder.history_devices = {}; });
  refuses([](DumpBuilder& builder) {
    builder.history_devices = {{0, -1}, {0, -1}};
    builder.history_levels.insert(builder.history_levels.end(), 3, {});
  });
  refuses([](DumpBuilder& builder) { builder.history_levels[1] = {401, 400, 700}; });
  refuses([](DumpBuilder& builder) { builder.history_levels[2] = {0, 200, 699}; });
  refuses([](DumpBuilder& builder) { builder.history_levels[1] = {200, UINT64_MAX, 700}; });
  refuses([](DumpBuilder& builder) {
    builder.history_points[1] = {1, 2, 0, 1, format::MomentKind::step, format::StepSource::backward};
  });
  refuses([](DumpBuilder& builder) {
    builder.history_points[2] = {61'000'000'000, 1, 0, 1, format::MomentKind::dump, format::StepSource::backward};
  });
  refuses([](DumpBuilder& builder) {
    builder.history_points[0] = {1, 1, 0, 0, format::MomentKind::step, format::StepSource::backward};
  });
  refuses([](DumpBuilder& builder) {
    builder.history_points[0] = {1, 1, 0, 1, format::MomentKind(9), format::StepSource::backward};
  });
}

TEST(Peak, ItsSitesComeTheLargestFirst) {
  const Dump dump = read(with_peak());
  EXPECT_THAT(dump.problems, IsEmpty());
  ASSERT_TRUE(dump.peak.present);
  EXPECT_EQ(dump.peak.bytes, 1100u);
  ASSERT_EQ(dump.peak.sites.size(), 2u);
  EXPECT_EQ(dump.peak.sites[0].bytes, 900u);
  EXPECT_EQ(dump.peak.sites[0].allocations, 3u);
  EXPECT_EQ(dump.peak.sites[0].site, 1u);
  EXPECT_EQ(dump.peak.other_bytes, 100u);
}

TEST(Peak, ASiteThatIsNotThereIsNone) {
  DumpBuilder builder = with_peak();
  builder.peak_sites[1] = {900, 3, 77};
  const Dump dump = read(builder);
  EXPECT_EQ(dump.peak.sites[0].site, 0u);
  EXPECT_THAT(dump.problems, Contains(HasSubstr("references to missing sites")));
}

TEST(Peak, SumsThatDoNotFitAreRefused) {
  DumpBuilder builder = with_peak();
  builder.peak_sites[0] = {UINT64_MAX - 10, 1, 0};
  expect_refused(builder, "impossible peaks");
  builder = with_peak();
  builder.peak_bytes = UINT64_MAX;
  expect_refused(builder, "impossible peaks");
}

}  // namespace
}  // namespace tensorscope::analyzer
