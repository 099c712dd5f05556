// SPDX-License-Identifier: Apache-2.0
// The parameters of a run, and which of them an operation is given: its module has them, and their shapes fit its
// result.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "forecast/operations.h"
#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

struct Weight {
  std::string module;
  std::span<const int64_t> shape;
  int64_t rows, columns;
  double bytes;
  size_t cast_until = 0;  // the copy is there up to this change
  bool computed = false;  // the program works with what it computes from it
};

// The parameters of a run.
std::vector<Weight> weights_of(const Sample& base);

class OperationWeights {
 public:
  OperationWeights(const Sample& base, const Operations& operations, std::vector<Weight> weights)
      : base_(base), operations_(operations), weights_(std::move(weights)) {}

  // "self.weight * x" in a norm, "scores + self.bias".
  bool is_broadcast(uint32_t index, std::span<const int64_t> shape) const;
  // Whether a parameter may be the rest of what an operation joins.
  bool may_join(uint32_t index, int64_t numel) const;
  // "self.decay.exp()": false where the operation's module has no parameter of this shape. Else that parameter is
  // computed from then on.
  bool compute(uint32_t index, std::span<const int64_t> shape);
  // Whether the operation's module works with what it computed from a parameter.
  bool computes(uint32_t index) const;
  // That a product or a convolution with a result of this shape is given; null: none.
  Weight* weight_of(uint32_t index, std::span<const int64_t> shape, bool convolves, int64_t columns);
  // Those that an operation may be given of which nothing but its result is known.
  std::vector<Weight*> possible_weights(uint32_t index, std::span<const int64_t> shape);
  // Of a recurrent layer that makes a product of so many columns.
  std::vector<Weight*> layer_weights(uint32_t index, int64_t columns);

 private:
  const std::string& module_of(uint32_t index) const {
    return base_.opened->places.module_path(operations_.all[index].site);
  }

  const Sample& base_;
  const Operations& operations_;
  std::vector<Weight> weights_;
};

}  // namespace tensorscope::analyzer::forecast
