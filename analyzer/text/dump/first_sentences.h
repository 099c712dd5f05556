// SPDX-License-Identifier: Apache-2.0
// The first sentences of a report: how much is alive and where most of it was allocated; what is outside of tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/opened_dump.h"

namespace tensorscope::text {

// "6.2 MiB live in 89 tensors; largest allocation site: train.py:57 train_step, 4.0 MiB (65 %), held by losses[0..63]".
// If hardly anything of the peak is alive, that and the peak. `total`: the bytes of all groups. `filtered`: they are a
// part of what is alive.
std::string answer_line(analyzer::OpenedDump& opened, const analyzer::Selection& selection,
                        const std::vector<analyzer::Group>& groups, analyzer::GroupBy by, uint64_t total,
                        bool filtered = false);

// "outside of tensors: 420.0 MiB of 812.0 MiB resident: 202.0 MiB kept by malloc, ...". "" where tensors have more, or
// it is little: what is mapped of files is there in every program.
std::string outside_line(const analyzer::View& view);

}  // namespace tensorscope::text
