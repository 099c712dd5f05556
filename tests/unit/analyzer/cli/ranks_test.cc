// SPDX-License-Identifier: Apache-2.0
// `ranks`, word for word, on the dumps of a job of four whose rank 2 keeps more and more.
// Covers: analyzer/text/ranks/{phrases,report,tables}.cc
// Covers: analyzer/export/json/ranks.cc
// Covers: analyzer/ranks/{rank_dump,rank_leaks}.cc
// Covers: analyzer/ranks/read_ranks.cc
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "golden_fixture.h"
#include "leak_dumps.h"
#include "sample_values.h"
#include "text/ranks/report.h"

namespace tensorscope::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// `minute` of a rank of the training program. Rank 2 holds as much more as it has minutes.
DumpBuilder rank_dump(int rank, int minute, const std::string& directory) {
  DumpBuilder dump = training_dump(minute, directory);
  dump.rank = dump.local_rank = rank;
  dump.world_size = 4;
  dump.step = 100 * minute;
  dump.job = "run7@node7:29500";
  dump.pid = 4242 + uint32_t(rank);
  dump.run_id = "run-" + std::to_string(rank);
  dump.host = rank < 2 ? "node7" : "node8";
  dump.process_groups = {{"0", "dp", {0, 1, 2, 3}}};
  if (rank == 2) {
    TensorSpec kept;
    kept.storage_base = 0x7f0000000000;
    kept.sizes = {int64_t(minute * kMiB / 4)};
    kept.site = dump.site(0, dump.python({{directory + "/train.py", "collect", 61}}));
    AllocationSpec memory;
    memory.pointer = kept.storage_base;
    memory.nbytes = uint64_t(minute) * kMiB;
    memory.site = kept.site;
    dump.allocation(memory);
    dump.tensor(kept);
  }
  return dump;
}

class RanksTest : public GoldenFixture {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    std::filesystem::create_directory("job");
    for (int rank = 0; rank < 4; ++rank) {
      for (int minute = 1; minute <= 2; ++minute) write(rank, minute);
    }
  }
  void write(int rank, int minute) {
    rank_dump(rank, minute, directory_.string())
        .write("job/train.rank" + std::to_string(rank) + "." + std::to_string(minute) + ".tscope");
  }
};

TEST_F(RanksTest, OneRankHoldsMore) { expect("ranks", {"ranks", "job"}); }
TEST_F(RanksTest, Narrow) { expect("ranks-narrow", {"ranks", "job", "--top", "2"}, 72); }
TEST_F(RanksTest, ALeakOfOneRank) {
  std::filesystem::create_directory("leaking");
  for (int rank = 0; rank < 3; ++rank) {
    for (int steps = 1; steps <= (rank == 2 ? 1 : 3); ++steps) {
      DumpBuilder dump = held_dump(rank == 1 ? 4 * steps : 4, directory_.string());
      dump.rank = rank;
      dump.world_size = 3;
      dump.run_id = "run-" + std::to_string(rank);
      dump.dump_ns += uint64_t(steps) * 1'000'000'000;
      dump.dump_number = uint32_t(steps);
      dump.write("leaking/train.rank" + std::to_string(rank) + "." + std::to_string(steps) + ".tscope");
    }
  }
  expect("ranks-leaks", {"ranks", "leaking", "--leaks", "--top", "1"});
  const auto answer = nlohmann::json::parse(run({"ranks", "leaking", "--json", "--leaks"}).out);
  ASSERT_FALSE(answer["leaks"].empty());
  EXPECT_EQ(answer["leaks"][0]["ranks"], nlohmann::json({1}));
}
TEST_F(RanksTest, Json) {
  const Result result = run({"ranks", "job", "--json", "--leaks"});
  EXPECT_EQ(result.status, 1);
  const auto answer = nlohmann::json::parse(result.out);
  EXPECT_EQ(answer["answer"]["moment"]["kind"], "step");
  EXPECT_EQ(answer["answer"]["moment"]["value"], 200);
  EXPECT_EQ(answer["answer"]["moment"]["most_on"], 2);
  EXPECT_EQ(answer["ranks"].size(), 4u);
  EXPECT_EQ(answer["ranks"][3]["process_groups"][0]["mesh_dimension"], "dp");
  EXPECT_EQ(answer["outliers"][0]["rank"], 2);
  EXPECT_EQ(answer["outliers"][0]["difference"], 2 * kMiB);
  EXPECT_EQ(answer["growth"][1]["site"], "train.py:61 collect");
  EXPECT_EQ(answer["growth"][1]["most_on"], 2);
}

TEST_F(RanksTest, OutOfMemoryAndAMissingRank) {
  for (int minute = 1; minute <= 2; ++minute) {
    std::filesystem::remove("job/train.rank3." + std::to_string(minute) + ".tscope");
  }
  std::filesystem::remove("job/train.rank1.2.tscope");
  DumpBuilder failed = rank_dump(2, 3, directory_.string());
  failed.trigger = format::Trigger::out_of_memory;
  FailureSpec failure;
  failure.requested = 512 * kMiB;
  failure.site = 1;
  failure.failed_ns = failed.dump_ns;
  failed.failure(failure);
  failed.write("job/train.rank2.oom-1.tscope");
  std::ofstream("job/x.tscope") << "no dump";
  expect("ranks-oom", {"ranks", "job"});
}

TEST_F(RanksTest, AFolderWithoutDumpsIsSaid) {
  std::filesystem::create_directory("empty");
  const Result result = run({"ranks", "empty"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("no dump (*.tscope) in empty."));
}

TEST_F(RanksTest, FiltersApplyToEachDump) {
  const Result result = run({"ranks", "job", "--json", "--line", "train.py:61"});
  const auto answer = nlohmann::json::parse(result.out);
  EXPECT_EQ(answer["answer"]["moment"]["least"], 0);
  EXPECT_EQ(answer["answer"]["moment"]["most"], 2 * kMiB);
}

TEST(RankLists, NumbersInARowAreARange) {
  EXPECT_EQ(text::rank_list({0, 2, 3, 4, 7, 8}), "0, 2-4, 7, 8");
  EXPECT_EQ(text::rank_list({5}), "5");
}

}  // namespace
}  // namespace tensorscope::testing
