// SPDX-License-Identifier: Apache-2.0
// What holds a tensor, in a few words: "model.fc1.weight", "train.py: history[3] (list)", "gradient of
// model.fc1.weight", "saved by ReluBackward0.result"; and many such names as one.
//
// Context: collector, under run_or_abandon_on_oom().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oom/holdings.h"

namespace tensorscope::oom {

// "" where nothing is known.
std::string holder_name(const DumpTables& tables, const TensorLinks& links, uint32_t tensor);

struct HeldBytes {
  std::string name;  // "": none is known
  uint64_t bytes = 0;
  size_t tensors = 1;
};
// The form of name that holds the most, with the numbers in which its names differ as a range or a star; where some
// have another form or no name, with its bytes, their number and theirs: "train.py: history[0..127] (list)",
// "model.layers.*.weight (4.0 MiB) and 3 more (12.0 KiB)". "" for no names.
std::string merged_names(const std::vector<HeldBytes>& names);

}  // namespace tensorscope::oom
