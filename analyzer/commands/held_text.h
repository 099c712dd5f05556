// Why tensors are still alive, in one line for many of them or a few for one.
#pragma once

#include <string>
#include <vector>

#include "commands/opened_dump.h"

namespace tensorscope::commands {

// "held by train.py: losses[0..127] (list)", "saved by SoftmaxBackward0.result <- ... <- train.py: loss"; "" where
// nothing is known.
// Where there are several holders, those that have a tenth of the bytes, at most three, each with its bytes.
std::vector<std::string> held_lines(const OpenedDump& opened, const model::Group& group);
// The same in one line.
std::string held_by(const OpenedDump& opened, const model::Group& group);

// The first holder of a tensor in a few words, without what its name already says; "" where nothing is known.
std::string brief_holder(const OpenedDump& opened, uint32_t tensor);

}  // namespace tensorscope::commands
