// SPDX-License-Identifier: Apache-2.0
// What torch.utils.checkpoint around the calls of some modules would have freed by now.
//
// Checkpointing a module drops what its forward pass saved for backward and computes it again when backward comes to
// it; its inputs and outputs stay. A block counts for a module when everything in it is a saved activation that was
// made below that module's forward, is saved by nodes made below it alone, and is in no Python variable: so inputs
// (allocated outside), outputs that others saved, and what the program still uses count for nobody. It is an upper
// bound: when backward reaches one of the modules, that one's activations come back. So do those of a module that runs
// now: what it has saved so far is needed at the next moment like this one. Checkpointing keeps inputs that nothing
// keeps now (module_inputs.h), and unused ends of blocks are others in another run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/grouping.h"

namespace tensorscope::analyzer::oom {

struct Checkpoint {
  std::string modules;      // "model.layers.*"
  size_t instances = 0;     // how many of them have something saved
  uint64_t bytes = 0;       // of all instances
  uint64_t largest = 0;     // of the one with the most
  uint64_t in_flight = 0;   // of those that run now
  uint64_t unused = 0;      // of the bytes: ends of blocks that the tensors do not use
  uint64_t inputs = 0;      // that would be kept beside what is kept now
  bool batch_norm = false;  // is in them: computing it again updates its running statistics again

  // What is not needed at the moment at which the most is.
  uint64_t stays_free() const {
    const uint64_t needed = largest > in_flight ? largest : in_flight;
    return instances > 1 ? bytes - needed : bytes - in_flight;
  }
  uint64_t at_least() const {
    const uint64_t less = unused + inputs;
    return stays_free() > less ? stays_free() - less : 0;
  }
};

// `most` modules that lie in no other of the list, the most bytes first; those with less than `least` are left out.
// `in_flight`: the path of the innermost module that runs, "" for none.
std::vector<Checkpoint> checkpoints(const View& view, Device device, uint64_t least, size_t most,
                                    const std::string& in_flight);

}  // namespace tensorscope::analyzer::oom
