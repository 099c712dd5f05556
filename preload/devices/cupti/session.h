// SPDX-License-Identifier: Apache-2.0
// CUPTI, if TENSORSCOPE_CUPTI is set: when it is opened, what it records, when it is given up.
//
//   off      TENSORSCOPE_CUPTI is not set, or this build has none (meson -Dcupti=disabled)
//   wanted   until the program first counts its devices: a process without CUDA never loads CUPTI, and nothing is
//            initialised before the program does it itself (a driver that is initialised does not survive a fork)
//   running  subscribed; memory (and launches) are recorded
//   ended    CUPTI is missing, or another tool uses it: one line on standard error says so
//
// CUPTI has room for one subscriber and one taker of records in a process. Who comes second gets
// CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, and torch.profiler subscribes only once; so when another part of the
// program subscribes, ours ends first (hooks/cuda/cupti.cc).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "devices/cupti/launch_counts.h"
#include "devices/cupti/memory_activity.h"

namespace tensorscope::cupti {

enum class Stage : uint8_t { off, wanted, starting, running, ended };
extern constinit std::atomic<Stage> g_stage;

inline bool wanted() { return g_stage.load(std::memory_order_relaxed) == Stage::wanted; }

inline bool may_be_running() {
  const Stage stage = g_stage.load(std::memory_order_relaxed);
  return stage == Stage::starting || stage == Stage::running;
}

// Context: activation. Reads the option.
void prepare();

// Context: hook. The program uses CUDA. Starts the recording on a thread of its own and, where the caller holds no lock
// of torch's, waits for it up to a limit, so that nothing is missed.
enum class Wait : bool { no, yes };
void cuda_is_used(Wait wait);

// Context: hook, before the real call. Somebody else in this process wants CUPTI: ours ends.
void give_up();

// Context: collector. What has been recorded, after a flush of all that CUPTI still held, with a time limit.
struct Activity {
  std::vector<MemoryEvent> memory;  // alive
  std::vector<LaunchCounts> launches;
  MemoryTotals totals;
  uint64_t began_ns = 0, ended_ns = 0;  // monotonic; ended 0: it goes on
  int64_t clock_offset_ns = 0;          // CUPTI's clock less the monotonic one
  uint32_t version = 0;                 // of the library
  bool recorded = false;                // false: there is nothing to tell
  bool with_launches = false;
  bool flushed = false;  // false: CUPTI did not answer within the limit, or has ended
};
void look(Activity& activity);

void after_fork_in_child();

}  // namespace tensorscope::cupti
