// SPDX-License-Identifier: Apache-2.0
// Which tensors are outputs of which modules' calls, by evidence of the autograd graph and of what Python holds.
//
// A tensor was computed where its creating node's forward stack says, inside some calls of modules, one in the other.
// It left such a call when a node outside that call uses it, or when nothing uses it and a variable outside holds it: a
// variable of a running function that the call was made from, or a global that is not the module's own. It is then
// called "<path>.out" for each call it left. Its place in the returned structure is not known: the order of creation
// is not that of return.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "ownership/tensor_links.h"
#include "symbols/frame_facts.h"

namespace tensorscope::analyzer {

class ModuleOutputs {
 public:
  // All three must outlive it.
  ModuleOutputs(const Dump& dump, const FrameFacts& facts, const TensorLinks& links);

  bool returned_from_call(uint32_t tensor) const { return !outermost_.empty() && outermost_[tensor] != 0; }
  // The outermost module first: "model.layers.3.attn.out", "model.layers.3.attn.proj.out". Empty: it left no call.
  std::vector<std::string> names(uint32_t tensor) const;

 private:
  const Dump& dump_;
  const FrameFacts& facts_;
  const TensorLinks& links_;
  std::vector<uint32_t> outermost_;  // by tensor: the outermost call that it left; 0: none. Empty: no module has a name
};

}  // namespace tensorscope::analyzer
