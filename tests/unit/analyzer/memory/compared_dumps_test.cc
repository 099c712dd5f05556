// SPDX-License-Identifier: Apache-2.0
#include "memory/compared_dumps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/analyzer/leaks/scene.h"

namespace tensorscope::analyzer {
namespace {

using format::ReferenceRoot;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Scene;

constexpr int64_t kFloats = 64 << 10;

// A dump after so many steps, with one tensor of each step, all held from this root.
Dump dump_of(int steps, ReferenceRoot root, format::Trigger trigger, const std::string& path) {
  Scene scene(steps);
  scene.builder.trigger = trigger;
  for (int step = 1; step <= steps; ++step) {
    scene.kept(testing::serial_at(step, 10), kFloats, scene.site(8), "trainer.outputs[0]", root);
  }
  const std::string bytes = scene.builder.bytes();
  Dump dump = read_dump_bytes(bytes.data(), bytes.size(), path);
  dump.totals.devices.resize(1);
  dump.totals.devices[0].live_bytes = uint64_t(steps) * kFloats * 4;
  return dump;
}

SymbolOptions without_symbols() {
  SymbolOptions options;
  options.use_cache = options.native = false;
  return options;
}

// Left out of dumps of a run that ends with this one.
std::vector<std::string> left_out(Dump at_end, const std::vector<int>& before = {1, 2, 3}) {
  std::vector<Dump> all;
  for (const int steps : before) {
    all.push_back(dump_of(steps, ReferenceRoot::local, format::Trigger::signal, std::to_string(steps)));
  }
  all.push_back(std::move(at_end));
  all.back().process.dump_ns += 60'000'000'000;
  ComparedDumps dumps(std::move(all), {}, without_symbols());
  std::vector<std::string> paths;
  for (const ExcludedDump& each : dumps.leave_out_incomparable()) paths.push_back(each.path);
  EXPECT_EQ(dumps.size() + paths.size(), before.size() + 1);
  return paths;
}

// A dump with holders is never given up for a moment without.
TEST(ComparedDumps, MomentsOfARecordingAreLeftOutBesideTwoDumps) {
  const auto moment = [] {
    Dump dump = dump_of(9, ReferenceRoot::local, format::Trigger::signal, "moment");
    dump.moment = true;
    dump.lives.resize(dump.allocations.size());
    return dump;
  };
  EXPECT_THAT(left_out(moment(), {1, 2}), ElementsAre("moment"));
  EXPECT_THAT(left_out(moment(), {1}), ElementsAre());
}

Dump at_exit(int steps, ReferenceRoot root) { return dump_of(steps, root, format::Trigger::exit, "exit"); }

TEST(ComparedDumps, AnExitDumpWithLessAlive) {
  EXPECT_THAT(left_out(at_exit(1, ReferenceRoot::global)), ElementsAre("exit"));
}

TEST(ComparedDumps, AnExitDumpWhoseTrainerIsAnUnreachableCycle) {
  EXPECT_THAT(left_out(at_exit(3, ReferenceRoot::cycle)), ElementsAre("exit"));
}

TEST(ComparedDumps, AnExitDumpAfterAnErrorThatNobodyCaught) {
  EXPECT_THAT(left_out(at_exit(3, ReferenceRoot::traceback)), ElementsAre("exit"));
}

TEST(ComparedDumps, AnExitDumpBesideOneOther) {
  EXPECT_THAT(left_out(at_exit(3, ReferenceRoot::cycle), {3}), ElementsAre("exit"));
}

TEST(ComparedDumps, AnExitDumpWhereVariablesStillHoldTensors) {
  EXPECT_THAT(left_out(at_exit(3, ReferenceRoot::global)), IsEmpty());
  EXPECT_THAT(left_out(at_exit(2, ReferenceRoot::local)), IsEmpty());
}

TEST(ComparedDumps, CyclesInADumpWhileItRuns) {
  EXPECT_THAT(left_out(dump_of(3, ReferenceRoot::cycle, format::Trigger::signal, "last")), IsEmpty());
}

TEST(ComparedDumps, WholeViewsStayWholeWhateverIsSelected) {
  std::vector<Dump> read;
  for (const int steps : {1, 2}) {
    read.push_back(dump_of(steps, ReferenceRoot::local, format::Trigger::signal, std::to_string(steps)));
  }
  ComparedDumps dumps(std::move(read), {}, without_symbols());
  const std::vector<View> whole = dumps.unfiltered_views();
  dumps.select({.devices = {"cuda:0"}});
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0].selection.bytes(), uint64_t(kFloats) * 4);
  EXPECT_EQ(whole[1].selection.bytes(), uint64_t(kFloats) * 4 * 2);
  EXPECT_EQ(dumps.live_bytes(), 0u);
}

}  // namespace
}  // namespace tensorscope::analyzer
