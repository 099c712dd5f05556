// SPDX-License-Identifier: Apache-2.0
// A run that is gone through under autocast: its blocks and changes, its operations and what these are given, and how
// the parts of this what-if change them.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "forecast/operation_inputs.h"
#include "forecast/operations.h"
#include "forecast/replay.h"
#include "forecast/samples.h"
#include "forecast/whatif/replay_edit.h"

namespace tensorscope::analyzer::forecast {

struct CastRun {
  CastRun(Replay& in, const Sample& sample, const Operations& all, std::vector<Weight> weights)
      : replay(in), base(sample), operations(all), inputs(in, sample, all, edit, std::move(weights)) {}

  Replay& replay;
  const Sample& base;
  const Operations& operations;
  ReplayEdit edit;
  OperationInputs inputs;

  // The block has this type from now on.
  void set(uint32_t replay_block, CastType type) {
    ReplayBlock& of = replay.blocks[replay_block];
    const double middle = (type.least + type.most) / 2;
    of.factor *= middle;
    of.unsure = middle == 0 ? 0 : (type.most - type.least) / 2 / middle;
  }
  // Returns a copy of the float32 bytes of a value, or of a part of them.
  uint32_t copy_of(const Value& value, const Operation& maker, double part, double unsure = 0) {
    const ReplayBlock of = replay.blocks[value.replay_block];
    return replay.add(ReplayBlock{kNone, of.growth, part * of.factor / ((value.type.least + value.type.most) / 2),
                                  unsure, Category::saved_activation, replay.blocks[maker.blocks.front()].block});
  }
  // The block is there while an operation runs.
  void keep_during(const Operation& operation, uint32_t replay_block) {
    edit.keep_between(operation.begin, operation.end, replay_block);
  }
  // The operation is given the value. Returns its type.
  static CastType use(const Operation& operation, Value& value) {
    value.last_use = std::max(value.last_use, operation.end);
    return value.type;
  }
  // The last that an operation makes of a float type; kNone: it makes none.
  uint32_t float_result(const Operation& operation) const {
    uint32_t result = kNone;
    for (uint32_t replay_block : operation.blocks) {
      if (inputs.is_float(replay_block)) result = replay_block;
    }
    return result;
  }
};

}  // namespace tensorscope::analyzer::forecast
