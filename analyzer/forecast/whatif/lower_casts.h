// SPDX-License-Identifier: Apache-2.0
// The copies that autocast gives to operations that compute in 16 bits: of weights, of what they are given, and how
// long each is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "forecast/whatif/cast_run.h"

namespace tensorscope::analyzer::forecast {

class LowerCasts {
 public:
  explicit LowerCasts(CastRun& run) : run_(run), cast_numels_(run.operations.all.size()) {}

  // What an operation of matrix products or a convolution is given.
  void give(uint32_t index);
  // What an operation may be given that could not be read.
  void give_unread(uint32_t index);
  // Once all copies are made: when those of a value go, and the value itself.
  void free_casts(const Value& value);
  // Whether the operation casts an input of so many elements.
  bool casts(uint32_t index, int64_t numel) const;

 private:
  void give_layer(uint32_t index, uint32_t result, int64_t columns);
  void cast_input(uint32_t index, Value& given, int64_t numel);
  uint32_t cast_weight(const Operation& operation, uint32_t block, Weight& weight);

  CastRun& run_;
  std::vector<std::vector<int64_t>> cast_numels_;  // of each operation: elements of the inputs that it casts
};

}  // namespace tensorscope::analyzer::forecast
