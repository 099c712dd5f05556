// SPDX-License-Identifier: Apache-2.0
// Which allocations of the inputs are the same one of the program, and how each grows.
//
// Blocks of one call stack are matched in their order where all inputs have as many. Where they do not (a loop over the
// sequence, more steps), they grow as the most of them that are alive at once. What has no counterpart with the whole
// stack (a library takes another path for another size) is looked for by line, first what has as many dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "forecast/growth.h"
#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

struct Matched {
  std::vector<Growth> growths;
  // Of each block of the base: its growth, and its share of that where several blocks grow together.
  std::vector<uint32_t> growth;
  std::vector<double> share;
};

// The input whose blocks stand for the program: the largest, of several the one with the highest peak.
size_t base_of(const std::vector<Sample>& samples, const std::vector<Size>& sizes);

// `key`: Block::key or Block::read_key.
Matched match_blocks(const std::vector<Sample>& samples, const std::vector<Size>& sizes, size_t base,
                     uint32_t Block::*key = &Block::key);

// Bytes of the base's peak that have a counterpart in every other input.
uint64_t matched_at_peak(const std::vector<Sample>& samples, const Matched& matched, size_t base);

// For each block of the base that has one in all other inputs, with the same rank: these. For looking at shapes.
std::vector<std::vector<uint32_t>> counterparts(const std::vector<Sample>& samples, size_t base);

}  // namespace tensorscope::analyzer::forecast
