// SPDX-License-Identifier: Apache-2.0
// Words for a value or a call: where in a run it was ("train step 3", "eval pass 2"), what it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "values/values_file.h"

namespace tensorscope::text {

const char* mode_name(format::StepMode mode);               // "train", "eval"; "" where not known
const char* kind_name(format::ValueKind kind);              // "tensor", "None", "float"
const char* step_source_phrase(format::StepSource source);  // what a dump's steps are: "optimizer steps"
std::string step_words(format::StepMode mode, uint32_t step, uint32_t pass);
// "0..11", "0,2,4..6": sorted numbers; of many ranges the first and the last.
std::string ranges(const std::vector<uint64_t>& numbers);

}  // namespace tensorscope::text
