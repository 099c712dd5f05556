// Which tensors are outputs of which modules' calls, by evidence of the autograd graph and of what Python holds.
//
// A tensor was computed where its creating node's forward stack says, inside some calls of modules, one in the other.
// It left such a call when a node outside that call uses it, or when nothing uses it and a variable outside holds it: a
// variable of a running function that the call was made from, or a global that is not the module's own. It is then
// called "<path>.out" for each call it left. Where in the returned structure it stood, nothing tells: the order of
// creation is not that of return.
#pragma once

#include <string>
#include <vector>

#include "dump/dump.h"
#include "ownership/tensor_links.h"
#include "symbols/frame_facts.h"

namespace tensorscope::analyzer {

// By tensor, the outermost module first: {"model.layers.3.attn.out", "model.layers.3.attn.proj.out"}.
std::vector<std::vector<std::string>> module_outputs(const Dump& dump, const FrameFacts& facts,
                                                     const TensorLinks& links);

}  // namespace tensorscope::analyzer
