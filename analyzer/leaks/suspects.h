// SPDX-License-Identifier: Apache-2.0
// What one dump alone shows of growth. A leak has been fed since it began: what it holds was created at many different
// times, up to now, and hardly anything that was allocated at the same sites has been freed. Parameters, optimizer
// state, a data set in memory and a cache that is warm were created at one time; a queue, a replay buffer at its limit
// and the tensors of the current step are what is left of many more that were freed.
//
// Suspects, not findings: a cache that is still being filled looks the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tensorscope::analyzer {

class LeakAnalysis;

struct Suspect {
  enum class Kind : uint8_t {
    variable,  // a variable or container, by what it refers to
    graph,     // a variable, by the autograd graph that leads to it
    larger,    // one tensor that is made anew and larger each time
    site       // an allocation site, whose tensors nothing explains
  } kind = Kind::variable;
  std::string holder;           // "train.py: losses[0..95]"; of a site: who holds its tensors, "a; b and 3 more"
  uint32_t site = 0;            // where most of its memory was allocated
  uint64_t bytes = 0;           // retained size
  uint64_t count = 0;           // tensors that it refers to; of a graph: nodes
  uint64_t generations = 0;     // it was created at so many different times at least
  uint64_t steps = 0;           // in so many different steps of the program at least; 0: no steps were seen
  uint64_t of_steps = 0;        // from the first to the last of these
  double after_first_step = 0;  // what part of it was created after the first of these
  uint64_t made = 0, kept = 0;  // allocations ever at the sites of its memory, and how many of them are alive
  bool from_the_first = false;  // most were freed, but these go back to the first that can have been there
  uint64_t oldest_ns = 0;       // age of the oldest and of the newest
  uint64_t newest_ns = 0;
  double share = 0;               // of the growth a step that the history shows; 0: not known
  std::vector<uint32_t> tensors;  // that are freed with it

  // Whether it is most of what memory grew by.
  bool explains_growth() const { return share >= 0.5; }
};
const char* name(Suspect::Kind kind);  // "variable": for programs

// Bytes that it grew by in a step, of those from its first to its last one; 0: not known.
uint64_t bytes_each_step(const Suspect& suspect);

// The largest retained size first, to a power of two; of equal ones that of the most steps or times, then the one that
// has been fed for longest. For a single dump; what a finding explains is left out. run_history.h goes on with them.
std::vector<Suspect> find_suspects(const LeakAnalysis& analysis);

}  // namespace tensorscope::analyzer
