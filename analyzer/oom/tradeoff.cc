// SPDX-License-Identifier: Apache-2.0
#include "oom/tradeoff.h"

namespace tensorscope::analyzer::oom {

Tradeoff tradeoff_of(const Remedy& remedy) {
  using Time = Tradeoff::Time;
  using Results = Tradeoff::Results;
  using Change = Tradeoff::Change;
  switch (remedy.kind) {
    case RemedyKind::checkpoint:
      return {Time::forward_again, Results::same, Change::one_line};
    case RemedyKind::smaller_batch:
      return {Time::twice_the_steps, Results::other, Change::one_line};
    case RemedyKind::lower_precision:
      return {Time::same, Results::rounding, Change::one_line};
    case RemedyKind::fused_step:
      return {Time::same, Results::rounding, Change::one_line};
    case RemedyKind::optimizer_step:
      return {Time::little, Results::same, Change::one_line};
    case RemedyKind::step_in_backward:
      return {Time::little, Results::same, Change::some_lines};
    case RemedyKind::sharded_state:
      return {Time::little, Results::same, Change::some_lines};
    case RemedyKind::less_state:
    case RemedyKind::half_model:
      return {Time::same, Results::other, Change::one_line};
    case RemedyKind::empty_cache:
    case RemedyKind::collect_garbage:
    case RemedyKind::malloc_trim:
    case RemedyKind::child_processes:
      return {Time::little, Results::same, Change::one_line};
    case RemedyKind::expandable_segments:
    case RemedyKind::other_process:
    case RemedyKind::shared_limit:
      return {Time::same, Results::same, Change::outside};
    case RemedyKind::drop_holder:
    case RemedyKind::other_stream:
    case RemedyKind::private_pool:
      return {Time::same, Results::same, Change::some_lines};
    case RemedyKind::break_graph_cycle:
    case RemedyKind::gradient_graph:
    case RemedyKind::running_sum:
    case RemedyKind::carried_state:
    case RemedyKind::no_grad:
    case RemedyKind::process_limit:
      break;
  }
  return {};
}

const char* name(Tradeoff::Time time) {
  switch (time) {
    case Tradeoff::Time::same:
      return "same";
    case Tradeoff::Time::little:
      return "little";
    case Tradeoff::Time::forward_again:
      return "forward-again";
    case Tradeoff::Time::twice_the_steps:
      return "twice-the-steps";
  }
  return "";
}

const char* name(Tradeoff::Results results) {
  switch (results) {
    case Tradeoff::Results::same:
      return "same";
    case Tradeoff::Results::rounding:
      return "rounding";
    case Tradeoff::Results::other:
      return "other";
  }
  return "";
}

const char* name(Tradeoff::Change change) {
  switch (change) {
    case Tradeoff::Change::outside:
      return "outside";
    case Tradeoff::Change::one_line:
      return "one-line";
    case Tradeoff::Change::some_lines:
      return "some-lines";
  }
  return "";
}

}  // namespace tensorscope::analyzer::oom
