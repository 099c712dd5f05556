// SPDX-License-Identifier: Apache-2.0
// Which dumps belong together.
// Covers: analyzer/ranks/job.cc
#include "ranks/job.h"

#include <gmock/gmock.h>

#include "dump/reader.h"
#include "rank_scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::dump_of_rank;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kSecond;

std::vector<int> ranks_of(const RankJob& job) {
  std::vector<int> out;
  for (const RankMember& member : job.members) out.push_back(member.rank);
  return out;
}

TEST(RankJobs, AMissingRankIsNamed) {
  const RankJob job = find_job({dump_of_rank(3, 1), dump_of_rank(0, 1), dump_of_rank(1, 1)}, "");
  EXPECT_THAT(ranks_of(job), ElementsAre(0, 1, 3));
  EXPECT_EQ(job.world_size, 4);
  EXPECT_THAT(job.missing, ElementsAre(2));
}

TEST(RankJobs, MomentsAreStepsWhereAllAreKnown) {
  const RankJob job = find_job({dump_of_rank(0, 1, 1, 10), dump_of_rank(0, 2, 1, 20), dump_of_rank(0, 3, 1, 30),
                                dump_of_rank(1, 1, 1, 10), dump_of_rank(1, 2, 1, 20)},
                               "");
  ASSERT_EQ(job.moments.size(), 3u);
  EXPECT_EQ(job.moments[job.compared].kind, RankMoment::Kind::step);
  EXPECT_EQ(job.moments[job.compared].value, 20);  // the last one that both have
  EXPECT_THAT(job.moments[2].dump_of, ElementsAre(2u, kNone));
}

TEST(RankJobs, MomentsAreNumbersWhereOneStepIsUnknown) {
  const RankJob job = find_job({dump_of_rank(0, 4, 1, 10), dump_of_rank(1, 2), dump_of_rank(1, 3)}, "");
  ASSERT_EQ(job.moments.size(), 2u);
  EXPECT_EQ(job.moments[0].kind, RankMoment::Kind::number);
  EXPECT_EQ(job.compared, 0u);
}

TEST(RankJobs, DumpsAtExitAndOfFailuresAreOfNoMoment) {
  RankDump last = dump_of_rank(0, 2), failed = dump_of_rank(1, 2);
  last.process.trigger = int(format::Trigger::exit);
  failed.failure = RankFailure{};
  const RankJob with_others = find_job({dump_of_rank(0, 1), last, dump_of_rank(1, 1), failed}, "");
  ASSERT_EQ(with_others.moments.size(), 1u);
  EXPECT_THAT(with_others.moments[0].dump_of, ElementsAre(0u, 2u));
  const RankJob alone = find_job({last, failed}, "");
  ASSERT_EQ(alone.moments.size(), 1u);
  EXPECT_EQ(alone.moments[0].kind, RankMoment::Kind::last);
}

TEST(RankJobs, AWorkerIsNoRankAndAnEarlierRunIsLeftOut) {
  RankDump worker = dump_of_rank(0, 1), earlier = dump_of_rank(1, 1);
  worker.process.pid = 500;
  worker.process.parent_pid = 100;
  worker.process.run_id = "worker";
  worker.process.start_unix_ns += kSecond;
  earlier.process.pid = 700;
  earlier.process.run_id = "earlier";
  earlier.process.start_unix_ns -= 50 * kSecond;
  RankDump launcher = dump_of_rank(-1, 1);
  const RankJob job = find_job({dump_of_rank(0, 1), worker, earlier, dump_of_rank(1, 1), launcher}, "");
  EXPECT_THAT(ranks_of(job), ElementsAre(0, 1));
  EXPECT_THAT(job.members[0].workers, ElementsAre(1u));
  EXPECT_THAT(job.members[1].dumps, ElementsAre(3u));
  EXPECT_EQ(job.earlier_run_dumps, 1u);
  EXPECT_EQ(job.without_rank_dumps, 1u);
}

TEST(RankJobs, TheNewestJobUnlessAnotherIsAskedFor) {
  RankDump old = dump_of_rank(0, 1);
  old.process.job = "old";
  old.process.run_id = "other";
  old.process.start_unix_ns -= kSecond;
  const std::vector<RankDump> dumps = {old, dump_of_rank(0, 1)};
  EXPECT_EQ(find_job(dumps, "").name, "job");
  EXPECT_THAT(find_job(dumps, "").other_jobs, ElementsAre("old"));
  EXPECT_THAT(find_job(dumps, "old").members[0].dumps, ElementsAre(0u));
  EXPECT_THROW(find_job(dumps, "none"), BadInput);
}

TEST(RankJobs, WithoutRanksEachProcessCounts) {
  RankDump a = dump_of_rank(-1, 1), b = dump_of_rank(-1, 1);
  a.process.world_size = b.process.world_size = -1;
  b.process.pid = 200;
  b.process.run_id = "b";
  const RankJob job = find_job({a, b}, "");
  EXPECT_EQ(job.members.size(), 2u);
  EXPECT_THAT(job.missing, IsEmpty());
}

TEST(RankJobs, PipelineStagesAreTold) {
  std::vector<RankDump> dumps;
  for (int rank = 0; rank < 4; ++rank) {
    dumps.push_back(dump_of_rank(rank, 1));
    dumps.back().groups = {{"0", "", {0, 1, 2, 3}}, {"1", "pp", {rank % 2, rank % 2 + 2}}};
  }
  const RankJob job = find_job(dumps, "");
  EXPECT_TRUE(job.stages);
  EXPECT_EQ(job.members[1].peers, 0u);
  EXPECT_EQ(job.members[2].peers, 1u);
}

}  // namespace
}  // namespace tensorscope::analyzer
