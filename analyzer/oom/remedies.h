// SPDX-License-Identifier: Apache-2.0
// What would have to go for a request to fit: each remedy has its rule here, and says nothing where its rule does not
// hold.
#pragma once

#include <string>
#include <vector>

#include "oom/headroom.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

// By price: what limits this process first, then what was found to keep memory, then changes of the program, and
// estimates last; of each the most bytes first. What is not enough comes after all that, and
// without a request what gives little. Empty where the request is larger than all there is.
std::vector<Remedy> find_remedies(const RemedyCase& about);

// Where PyTorch reads the allocator's settings: PYTORCH_CUDA_ALLOC_CONF, or PYTORCH_ALLOC_CONF from 2.12 on.
const char* settings_variable(const std::string& torch_version);

}  // namespace tensorscope::analyzer::oom
