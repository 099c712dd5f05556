// SPDX-License-Identifier: Apache-2.0
// What differs between ranks.
// Covers: analyzer/ranks/rank_answer.cc
#include "ranks/rank_answer.h"

#include <gmock/gmock.h>

#include "rank_scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::add_part;
using testing::dump_of_rank;
using ::testing::IsEmpty;
using testing::kSecond;

constexpr uint64_t kMiB = 1 << 20;

// Four ranks with a site 7 each, of so many MiB.
std::vector<RankDump> four(const std::vector<uint64_t>& mebibytes, uint32_t number = 1) {
  std::vector<RankDump> dumps;
  for (size_t rank = 0; rank < mebibytes.size(); ++rank) {
    dumps.push_back(dump_of_rank(int(rank), number, mebibytes[rank] * kMiB));
    add_part(dumps.back(), RankSubject::site, 7, mebibytes[rank] * kMiB);
  }
  return dumps;
}

RankAnswer answer_of(const std::vector<RankDump>& dumps) { return compare_ranks(dumps, find_job(dumps, "")); }

TEST(RankAnswers, EqualRanksHaveNoOutlier) {
  const RankAnswer answer = answer_of(four({64, 64, 64, 64}));
  EXPECT_THAT(answer.outliers, IsEmpty());
  ASSERT_EQ(answer.rows.size(), 1u);
  EXPECT_TRUE(answer.rows[0].same);
  EXPECT_EQ(answer.live.median, 64 * kMiB);
}

TEST(RankAnswers, TheRankWithMoreIsAnOutlierInTotalAndAtItsSite) {
  const RankAnswer answer = answer_of(four({64, 64, 96, 64}));
  ASSERT_EQ(answer.outliers.size(), 2u);
  EXPECT_TRUE(answer.outliers[0].total);
  EXPECT_EQ(answer.outliers[0].member, 2u);
  EXPECT_EQ(answer.outliers[1].name, 7u);
  EXPECT_EQ(answer.outliers[1].difference(), int64_t(32 * kMiB));
  EXPECT_FALSE(answer.rows[0].same);
}

TEST(RankAnswers, ARankWithLessIsOneToo) {
  const RankAnswer answer = answer_of(four({64, 64, 64, 8}));
  ASSERT_FALSE(answer.outliers.empty());
  EXPECT_EQ(answer.outliers[0].member, 3u);
  EXPECT_LT(answer.outliers[0].difference(), 0);
}

TEST(RankAnswers, ScatterIsNoOutlier) { EXPECT_THAT(answer_of(four({60, 64, 68, 72})).outliers, IsEmpty()); }

TEST(RankAnswers, OfTwoRanksNeitherIsTheException) { EXPECT_THAT(answer_of(four({64, 640})).outliers, IsEmpty()); }

TEST(RankAnswers, StagesAreComparedWithinThemselves) {
  std::vector<RankDump> dumps = four({10, 10, 10, 90, 90, 90, 90});
  for (int rank = 0; rank < 7; ++rank) {
    dumps[size_t(rank)].groups = {{"1", "pp", rank < 3 ? std::vector<int>{rank, 90} : std::vector<int>{91, rank}}};
  }
  EXPECT_THAT(answer_of(dumps).outliers, IsEmpty());
  EXPECT_TRUE(answer_of(dumps).rows[0].same);
}

TEST(RankAnswers, GrowthIsOfTheRanksThatAreThereTwice) {
  std::vector<RankDump> dumps = four({10, 10, 10, 10});
  for (RankDump& dump : four({10, 14, 10, 40}, 2)) dumps.push_back(std::move(dump));
  dumps.pop_back();  // rank 3 has no second dump
  const RankAnswer answer = answer_of(dumps);
  EXPECT_EQ(answer.moments.size(), 2u);
  EXPECT_THAT(answer.growth, IsEmpty());  // the first moment has more ranks and is compared
  dumps = four({10, 10, 10, 10});
  for (RankDump& dump : four({10, 14, 10, 40}, 2)) dumps.push_back(std::move(dump));
  const RankAnswer both = answer_of(dumps);
  ASSERT_EQ(both.growth.size(), 1u);
  EXPECT_EQ(both.growth[0].most, int64_t(30 * kMiB));
  EXPECT_EQ(both.growth[0].most_member, 3u);
  EXPECT_EQ(both.growth[0].members, 2u);
  EXPECT_EQ(both.moments[1].live.range(), 30 * kMiB);
}

TEST(RankAnswers, TheFirstOutOfMemoryAndWhatTheOthersHeldThen) {
  std::vector<RankDump> dumps = four({10, 10, 10, 10});
  RankDump first = dump_of_rank(2, 9, 50 * kMiB), later = dump_of_rank(0, 12, 51 * kMiB);
  first.failure = RankFailure{.unix_ns = 1009 * kSecond, .requested = kMiB, .device = {}, .where = "", .error = ""};
  later.failure = RankFailure{.unix_ns = 1012 * kSecond, .requested = kMiB, .device = {}, .where = "", .error = ""};
  RankDump near = dump_of_rank(1, 8, 20 * kMiB);
  dumps.insert(dumps.end(), {first, later, near});
  const RankAnswer answer = answer_of(dumps);
  ASSERT_TRUE(answer.out_of_memory.has_value());
  EXPECT_EQ(answer.out_of_memory->member, 2u);
  ASSERT_EQ(answer.out_of_memory->others.size(), 3u);
  EXPECT_EQ(answer.out_of_memory->others[1].dump, 6u);
  EXPECT_EQ(answer.out_of_memory->others[1].after_ns, -int64_t(kSecond));
  EXPECT_THAT(answer.out_of_memory->also, ::testing::ElementsAre(0u));
}

}  // namespace
}  // namespace tensorscope::analyzer
