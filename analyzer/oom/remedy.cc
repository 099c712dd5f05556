// SPDX-License-Identifier: Apache-2.0
#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

const char* name(RemedyKind kind) {
  switch (kind) {
    case RemedyKind::empty_cache:
      return "empty-cache";
    case RemedyKind::other_stream:
      return "other-stream";
    case RemedyKind::private_pool:
      return "private-pool";
    case RemedyKind::expandable_segments:
      return "expandable-segments";
    case RemedyKind::collect_garbage:
      return "collect-garbage";
    case RemedyKind::break_graph_cycle:
      return "break-graph-cycle";
    case RemedyKind::gradient_graph:
      return "gradient-graph";
    case RemedyKind::drop_holder:
      return "drop-holder";
    case RemedyKind::running_sum:
      return "running-sum";
    case RemedyKind::carried_state:
      return "carried-state";
    case RemedyKind::no_grad:
      return "no-grad";
    case RemedyKind::checkpoint:
      return "checkpoint";
    case RemedyKind::fused_step:
      return "fused-step";
    case RemedyKind::optimizer_step:
      return "optimizer-step";
    case RemedyKind::step_in_backward:
      return "step-in-backward";
    case RemedyKind::sharded_state:
      return "sharded-state";
    case RemedyKind::less_state:
      return "less-state";
    case RemedyKind::half_model:
      return "half-model";
    case RemedyKind::smaller_batch:
      return "smaller-batch";
    case RemedyKind::lower_precision:
      return "lower-precision";
    case RemedyKind::malloc_trim:
      return "malloc-trim";
    case RemedyKind::other_process:
      return "other-process";
    case RemedyKind::child_processes:
      return "child-processes";
    case RemedyKind::shared_limit:
      return "shared-limit";
    case RemedyKind::process_limit:
      return "process-limit";
  }
  return "unknown";
}

int rank(RemedyKind kind) {
  switch (kind) {
    case RemedyKind::shared_limit:
    case RemedyKind::process_limit:
      return 0;
    case RemedyKind::checkpoint:
    case RemedyKind::fused_step:
    case RemedyKind::optimizer_step:
      return 2;
    case RemedyKind::step_in_backward:
    case RemedyKind::sharded_state:
      return 3;
    case RemedyKind::less_state:
    case RemedyKind::half_model:
    case RemedyKind::smaller_batch:
    case RemedyKind::lower_precision:
      return 4;
    default:
      return 1;
  }
}

const char* name(Fits fits) {
  switch (fits) {
    case Fits::unknown:
      return "unknown";
    case Fits::no:
      return "no";
    case Fits::may:
      return "may";
    case Fits::yes:
      return "yes";
  }
  return "unknown";
}

}  // namespace tensorscope::analyzer::oom
