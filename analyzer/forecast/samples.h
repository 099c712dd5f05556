// SPDX-License-Identifier: Apache-2.0
// One input of a forecast: what a run allocated on a device, and in which order it came and went. A recording has all
// of it; of a dump everything that is alive counts as made, and nothing as freed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/opened_dump.h"
#include "ownership/category.h"

namespace tensorscope::analyzer::forecast {

// One allocation.
struct Block {
  uint64_t nbytes = 0;
  uint32_t site = 0;
  uint32_t forward = 0;                 // made in a backward pass: the site of the operation that it belongs to; else 0
  uint32_t forward_block = UINT32_MAX;  // likewise: the last block that this operation made; UINT32_MAX: not known
  // Equal for the same code in all samples: with its whole stack; by line, type and dimensions; by line alone.
  uint32_t key = 0, kind = 0, coarse = 0;
  uint32_t read_key = 0;  // `key` with the file alone where it could not be read: `key` has addresses in place of names
  uint32_t first_dim = 0;  // in Sample::dims
  uint8_t ndim = 0, itemsize = 0;
  bool shape_known = false;  // of a tensor that fills it
  bool backward = false, optimizer = false;
  bool past_backward = false;  // alive when a backward pass began after it was made
  bool scratch = false;        // on a device, in no tensor, for one convolution: cuDNN chooses how much
  int8_t dtype = -1;
  Category category = Category::unknown;

  // Whose module it counts as.
  uint32_t place() const { return forward != 0 ? forward : site; }
};

// Of a tensor of this shape.
inline int64_t elements(std::span<const int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

struct Change {
  uint32_t block = 0;
  bool made = false;
};

struct Sample {
  std::string file;
  bool recording = false;
  Device device;
  std::unique_ptr<OpenedDump> opened;  // of a recording: as of its peak
  std::vector<Block> blocks;           // in the order in which they were made
  std::vector<int64_t> dims;
  std::vector<Change> changes;
  std::vector<size_t> steps;   // how many changes there were when each step ended
  uint64_t peak = 0;           // bytes
  size_t at_peak = 0;          // index of the change that reached it
  uint64_t reserved_peak = 0;  // by the device's allocator; 0: not known
  bool convolves = false;  // on a device: cuDNN may work in memory that it chooses, seen here (Block::scratch) or not
  bool convolves_in_float32 = false;  // likewise, and what it makes is float32
  std::vector<std::string> problems;

  std::span<const int64_t> shape(const Block& block) const { return {dims.data() + block.first_dim, block.ndim}; }
  int64_t numel(const Block& block) const { return elements(shape(block)); }
  std::string modules(uint32_t block) const { return opened->places.module_path(blocks[block].place()); }
};

// Gives equal texts equal numbers.
class KeyPool {
 public:
  uint32_t number(const std::string& text) {
    return numbers_.try_emplace(text, uint32_t(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

// `path`: a dump, a recording, or a moment of one, which stands for that moment alone. `device`: "" for the one with
// the highest peak. Throws BadInput.
Sample read_sample(const std::string& path, const std::string& device, const SymbolOptions& options, KeyPool& keys);
// Block::read_key of all inputs of a forecast, once they are read. Those of one file may have names in one input alone.
void add_read_keys(std::vector<Sample>& samples, KeyPool& keys);

}  // namespace tensorscope::analyzer::forecast
