// SPDX-License-Identifier: Apache-2.0
// Runs of an imaginary program, put together by hand.
#pragma once

#include <initializer_list>
#include <vector>

#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

class RunScene {
 public:
  RunScene() { sample.device = kHost; }

  // Returns the block's number. Its bytes are the shape's, of float32.
  uint32_t make(uint32_t key, std::initializer_list<int64_t> shape, int8_t dtype = 6) {
    Block block;
    block.key = block.read_key = block.kind = block.coarse = key;
    block.first_dim = uint32_t(sample.dims.size());
    block.ndim = uint8_t(shape.size());
    block.itemsize = 4;
    block.dtype = dtype;
    block.shape_known = true;
    block.nbytes = 4;
    for (int64_t dim : shape) block.nbytes *= uint64_t(dim);
    sample.dims.insert(sample.dims.end(), shape.begin(), shape.end());
    return add(block);
  }
  uint32_t make_bytes(uint32_t key, uint64_t nbytes) {
    Block block;
    block.key = block.read_key = block.kind = block.coarse = key;
    block.nbytes = nbytes;
    return add(block);
  }
  void free(uint32_t block) {
    sample.changes.push_back({block, false});
    live_ -= sample.blocks[block].nbytes;
  }

  Sample sample;

 private:
  uint32_t add(const Block& block) {
    sample.blocks.push_back(block);
    sample.changes.push_back({uint32_t(sample.blocks.size() - 1), true});
    live_ += block.nbytes;
    if (live_ > sample.peak) {
      sample.peak = live_;
      sample.at_peak = sample.changes.size() - 1;
    }
    return uint32_t(sample.blocks.size() - 1);
  }

  uint64_t live_ = 0;
};

template <typename... Scenes>
std::vector<Sample> samples_of(Scenes&&... scenes) {
  std::vector<Sample> samples;
  (samples.push_back(std::move(scenes.sample)), ...);
  return samples;
}

}  // namespace tensorscope::analyzer::forecast
