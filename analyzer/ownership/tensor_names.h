// What each tensor of a dump is called, all names, the best first (holders.h says which that is).
#pragma once

#include <string>
#include <vector>

#include "dump/dump.h"
#include "ownership/tensor_links.h"
#include "symbols/frame_facts.h"

namespace tensorscope::analyzer {

// By tensor. `outputs` are those of module_outputs().
std::vector<std::vector<std::string>> tensor_names(const Dump& dump, const FrameFacts& facts, const TensorLinks& links,
                                                   const std::vector<std::vector<std::string>>& outputs);

// The nn.Module whose forward made a node: "" where none, or where nobody saw it.
const std::string& node_module(const Dump& dump, const FrameFacts& facts, uint32_t node);

}  // namespace tensorscope::analyzer
