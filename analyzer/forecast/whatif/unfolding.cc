// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/unfolding.h"

#include <algorithm>
#include <span>

#include "forecast/whatif/replay_edit.h"

namespace tensorscope::analyzer::forecast {

namespace {

// Bytes of 16 bits as a part of those of a float32 result: the elements of the input that each of its places sees,
// for all of its channels. 0 where nothing is unfolded.
double columns_of(const Weight& weight) {
  const int64_t sees = elements(weight.shape) / std::max<int64_t>(1, weight.rows);
  return sees == weight.columns ? 0 : 0.5 * double(sees) / double(weight.rows);
}

// A bias has a gradient that is added up from a float32 copy of the result's.
bool has_bias(const std::vector<Weight>& weights, const Weight& of) {
  return std::ranges::any_of(weights, [&](const Weight& one) {
    return one.module == of.module && one.shape.size() == 1 && one.rows == of.rows;
  });
}

// Whether a result may be of a convolution with a weight; one of a line is computed as one of an image.
bool convolution_of(const Weight& weight, std::span<const int64_t> shape) {
  return shape.size() == weight.shape.size() || (shape.size() == 4 && weight.shape.size() == 3 && shape[2] == 1);
}

}  // namespace

void add_im2col_buffers(Replay& replay, const Sample& base, const Operations& operations,
                        const std::vector<Weight>& weights) {
  if (!base.device.is_cpu()) return;
  ReplayEdit edit;
  edit.start(replay);
  for (const Operation& operation : operations.all) {
    const bool convolves = operation.traits.convolution && operation.traits.rule == CastRule::lower;
    if (!convolves && !operation.traits.unread) continue;
    const ReplayBlock result = replay.blocks[operation.blocks.back()];
    const Block& block = base.blocks[result.block];
    const std::span<const int64_t> shape = base.shape(block);
    const std::string module = base.modules(result.block);
    const auto weight = std::ranges::find_if(weights, [&](const Weight& one) {
      return one.module == module && one.shape.size() > 2 && shape.size() > 1 && one.rows == shape[1] &&
             (convolves || convolution_of(one, shape));
    });
    if (weight == weights.end()) continue;
    const double columns = columns_of(*weight);
    const auto may_keep_columns = [&](size_t begin, size_t end, double part) {
      if (part == 0) return;
      edit.keep_between(begin, end, replay.add(as_uncertainty({kNone, result.growth, part, 0, Category::workspace})));
    };
    may_keep_columns(operation.begin, operation.end, columns);
    if (operation.backward_begin == SIZE_MAX) continue;
    // Never at the same time.
    may_keep_columns(operation.backward_begin, operation.backward_end,
                     std::max(columns, has_bias(weights, *weight) ? 1.0 : 0));
  }
  edit.apply(replay);
}

}  // namespace tensorscope::analyzer::forecast
