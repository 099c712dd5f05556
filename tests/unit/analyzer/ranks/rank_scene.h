// SPDX-License-Identifier: Apache-2.0
// Dumps of ranks as they are after reading, for the tests of what is made of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dump_generated.h"
#include "ranks/rank_dump.h"

namespace tensorscope::testing {

inline constexpr uint64_t kSecond = 1'000'000'000;

// The `number`-th dump of a rank, a second after the one before it.
inline analyzer::RankDump dump_of_rank(int rank, uint32_t number, uint64_t live = 1 << 20, int64_t step = -1) {
  analyzer::RankDump dump;
  dump.path = "rank" + std::to_string(rank) + "." + std::to_string(number) + ".tscope";
  analyzer::Process& p = dump.process;
  p.rank = rank;
  p.world_size = 4;
  p.pid = 100 + uint32_t(rank);
  p.parent_pid = 99;
  p.host = "node1";
  p.run_id = "run" + std::to_string(rank);
  p.job = "job";
  p.start_unix_ns = 1000 * kSecond;
  p.dump_unix_ns = (1000 + number) * kSecond;
  p.dump_number = number;
  p.step = step;
  p.trigger = int(format::Trigger::signal);
  dump.live_bytes = live;
  return dump;
}

inline void add_part(analyzer::RankDump& dump, analyzer::RankSubject subject, uint32_t name, uint64_t bytes) {
  dump.parts[size_t(subject)].push_back({name, bytes, 1});
}

}  // namespace tensorscope::testing
