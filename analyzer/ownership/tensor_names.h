// SPDX-License-Identifier: Apache-2.0
// What each tensor of a dump is called, all names, the best first (holders.h says which that is).
#pragma once

#include <string>
#include <vector>

#include "dump/dump.h"
#include "ownership/module_outputs.h"
#include "ownership/tensor_links.h"
#include "symbols/frame_facts.h"

namespace tensorscope::analyzer {

// By tensor.
std::vector<std::vector<std::string>> tensor_names(const Dump& dump, const FrameFacts& facts, const TensorLinks& links,
                                                   const ModuleOutputs& outputs);

// How to speak of a tensor: "#12 (model.fc1.weight)". `names`: all that it has.
std::string tensor_label(const Tensor& tensor, const std::vector<std::string>& names);

// The nn.Module whose forward made a node: "" where none, or where nobody saw it.
const std::string& node_module(const Dump& dump, const FrameFacts& facts, uint32_t node);

}  // namespace tensorscope::analyzer
