// SPDX-License-Identifier: Apache-2.0
// Something that would make room for a request, what it takes, and how much it would give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leaks/finding.h"

namespace tensorscope::analyzer::oom {

enum class RemedyKind : uint8_t {
  empty_cache,          // cached segments that are wholly free
  other_stream,         // a free piece that is large enough, of another stream
  private_pool,         // the same, of a CUDA graph or MemPool
  expandable_segments,  // the free pieces together would do
  collect_garbage,      // unreachable cycles
  break_graph_cycle,    // cycles through the autograd graph
  gradient_graph,       // gradients that have a graph
  drop_holder,          // a container, an accumulated graph, an exception
  running_sum,          // a sum that leads to the graphs of all of its parts
  carried_state,        // a state whose graph goes back to the first step
  no_grad,              // a loop that computes graphs for no backward
  checkpoint,           // compute a module's activations again in backward
  // An optimizer's step needs more than the parameters:
  fused_step,        // a kernel that makes no temporaries
  optimizer_step,    // one parameter after the other
  step_in_backward,  // each parameter as soon as it has its gradient
  sharded_state,     // each rank keeps its part
  less_state,        // another optimizer
  half_model,        // parameters, gradients and state in 16 bits
  smaller_batch,
  lower_precision,  // activations in 16 bits
  malloc_trim,      // free memory that malloc keeps
  other_process,
  child_processes,
  shared_limit,  // other processes have most of what the limit of them all allows
  process_limit  // the device or machine has room; something else holds this process back
};
const char* name(RemedyKind kind);  // "empty-cache"
// The order of remedies: 0 what limits this process, 1 what was found to hold or keep memory, then what the
// program would have to do otherwise: 2 in a line and with the same results, 3 in more lines, 4 with other results.
int rank(RemedyKind kind);

// Whether the request would fit then. `may`: there is enough, but not surely in one piece or at once.
enum class Fits : uint8_t { unknown, no, may, yes };
const char* name(Fits fits);

struct Remedy {
  RemedyKind kind = RemedyKind::empty_cache;
  // Of the program: holders ("train.py: losses[0..95] (list)"), modules ("model.layers.*"), a function, for expandable
  // segments the variable of the allocator's settings.
  std::vector<std::string> names{};
  std::optional<LeakFinding> leak{};  // what was found, where that is a finding of `leaks`
  uint64_t bytes = 0;
  bool at_most = false;        // an upper bound
  bool estimate = false;       // a computed figure, which may turn out higher or lower
  uint64_t low = 0, high = 0;  // of a bound and of an estimate: the least and the most that it gives at this moment
  std::string where{};         // the line to change: "train.py:57 main"; "": not known
  Fits fits = Fits::unknown;
  uint64_t missing = 0;  // where it does not fit: what is missing still

  // What only some kinds have.
  uint64_t count = 0;                   // of child processes, modules, ranks, a chain's earlier values
  uint64_t pid = 0;                     // other_process
  uint64_t stream = 0;                  // other_stream
  uint64_t pool = 0, pool_user = 0;     // private_pool
  std::string variable{};               // carried_state
  uint64_t own_bytes = 0;               // drop_holder: of the tensors themselves
  uint64_t graph_bytes = 0;             // and of their graphs; 0: not worth a word
  bool scalars = false;                 // and they have one element each
  uint64_t stays = 0;                   // in private pools, or in the module that runs now
  uint64_t inputs = 0;                  // checkpoint: that it keeps beside what is kept now
  bool batch_norm = false;              // checkpoint: is in the modules
  uint64_t scaling = 0, may_scale = 0;  // smaller_batch: bytes that grow with the batch, and that may
  bool holds_most = false;              // shared_limit, child_processes: more than half of what is used under the limit
  bool tried = false;                   // empty_cache: torch did so before it gave up
  bool in_step = false;                 // less_state: an optimizer's step made the request
  bool backward_elsewhere = false;      // no_grad: backward was seen, but not from this function

  void set_bound(uint64_t most, uint64_t least) {
    bytes = high = most;
    low = least;
    at_most = true;
  }
};

}  // namespace tensorscope::analyzer::oom
