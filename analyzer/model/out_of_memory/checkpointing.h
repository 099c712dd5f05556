// What torch.utils.checkpoint around the calls of some modules would have freed by now.
//
// Checkpointing a module drops what its forward pass saved for backward and computes it again when backward comes to
// it; its inputs and outputs stay. A block counts for a module when everything in it is a saved activation that was
// made below that module's forward, is saved by nodes made below it alone, and is in no Python variable: so inputs
// (made outside), outputs that others saved, and what the program still uses count for nobody. It is an upper bound:
// when backward reaches one of the modules, that one's activations come back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/grouping.h"

namespace tensorscope::model::oom {

struct Checkpoint {
  std::string modules;   // "model.layers.*"
  size_t instances = 0;  // how many of them have something saved
  uint64_t bytes = 0;    // of all instances
  uint64_t largest = 0;  // of the one with the most
};

// Modules that lie in no other of the list, the most bytes first; those with less than `least` are left out.
std::vector<Checkpoint> checkpoints(const View& view, Device device, uint64_t least);

// "model.layers.3.attn" is "model.layers.*.attn".
std::string starred(const std::string& path);

}  // namespace tensorscope::model::oom
