// SPDX-License-Identifier: Apache-2.0
// Why tensors are still alive, in one line for many of them or a few for one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/opened_dump.h"

namespace tensorscope::text {

// "held by train.py: losses[0..127] (list)", "saved by SoftmaxBackward0.result <- ... <- train.py: loss"; "" where
// nothing is known, and for a moment of a recording where no dump of the run has any of the tensors: one line says so
// of all of them (moment_names_line). Where there are several holders, as holder_lines() has them.
std::vector<std::string> held_lines(const analyzer::OpenedDump& opened, const analyzer::Group& group);
// The same in one line.
std::string held_by(const analyzer::OpenedDump& opened, const analyzer::Group& group);

// Those of these holders, the largest first, that have a tenth of all bytes, at most three, each with its bytes; the
// others are counted.
struct HolderShare {
  std::string text;
  uint64_t bytes = 0;
};
std::vector<std::string> holder_lines(const std::vector<HolderShare>& shares);

// The first holder of a tensor in a few words, without what its name already says; "" as for held_lines().
std::string brief_holder(const analyzer::OpenedDump& opened, uint32_t tensor);

}  // namespace tensorscope::text
