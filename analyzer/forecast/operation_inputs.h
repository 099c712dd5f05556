// SPDX-License-Identifier: Apache-2.0
// What the operations of a run were given: values that earlier ones made, and parameters. No run says it; it is told
// from shapes, from modules and from when blocks are freed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "forecast/operation_weights.h"
#include "forecast/operations.h"
#include "forecast/replay.h"
#include "forecast/samples.h"
#include "forecast/whatif/replay_edit.h"

namespace tensorscope::analyzer::forecast {

// The type that something of float32 has under autocast, as parts of its bytes.
struct CastType {
  double least = 0.5, most = 1;
  bool half() const { return most <= 0.5; }
  bool whole() const { return least >= 1; }
};

// A copy that autocast makes of a value for an operation.
struct CastCopy {
  uint32_t replay_block, operation;
  bool passing = false;  // not saved: the operation copies it again
};

// What an operation made, of a float type.
struct Value {
  uint32_t replay_block, operation;
  int64_t numel;
  CastType type;
  size_t last_use = 0;         // the change after the last operation that was given it
  uint32_t made_from = kNone;  // index of the one value that it was computed from, element by element
  std::vector<CastCopy> casts{};
};

class OperationInputs {
 public:
  // `edit`: of the replay as it was before anything is put into it.
  OperationInputs(const Replay& replay, const Sample& base, const Operations& operations, const ReplayEdit& edit,
                  std::vector<Weight> weights)
      : replay_(replay),
        base_(base),
        operations_(operations),
        edit_(edit),
        weights_(base, operations, std::move(weights)) {}

  OperationWeights& weights() { return weights_; }
  // In the order in which they were made.
  std::vector<Value>& values() { return values_; }
  Value& add(uint32_t replay_block, uint32_t operation, CastType type);

  const Block& block_of(uint32_t replay_block) const { return base_.blocks[replay_.blocks[replay_block].block]; }
  std::span<const int64_t> shape_of(uint32_t replay_block) const { return base_.shape(block_of(replay_block)); }
  bool is_float(uint32_t replay_block) const;
  int64_t numel_of(uint32_t replay_block) const { return base_.numel(block_of(replay_block)); }
  const std::string& module_of(uint32_t operation) const {
    return base_.opened->places.module_path(operations_.all[operation].site);
  }

  bool alive(const Value& value, size_t change) const { return edit_.freed(value.replay_block) > change; }
  // For backward: it is alive when that begins.
  bool saved_for(const Value& value, const Operation& operation) const;
  // The newest value that fits; null where none does.
  template <typename Fits>
  Value* newest(Fits fits, size_t look_back = 96) {
    for (size_t n = 0; n < std::min(look_back, values_.size()); ++n) {
      Value& one = values_[values_.size() - 1 - n];
      if (fits(one)) return &one;
    }
    return nullptr;
  }
  Value* newest_of(const Operation& operation, int64_t numel);

  // That an operation with a result of as many elements is given; null: not known.
  Value* one(uint32_t index, uint32_t replay_block);
  uint32_t index_of(const Value& value) const { return uint32_t(&value - values_.data()); }

  // That an operation puts more around, as it is or transposed; null: not known.
  Value* padded(uint32_t index, uint32_t replay_block);
  // That an operation pools; null: not known.
  Value* pooled(uint32_t index, uint32_t replay_block);

  // That an operation changes in place, as a whole or a part of it; null: not known.
  Value* changed(uint32_t index, uint32_t replay_block);
  // The state that a recurrent layer makes the next one from; null: not known.
  Value* state_before(uint32_t index, uint32_t replay_block);
  // That add up to a result: values, and perhaps a parameter.
  struct Joined {
    std::vector<Value*> values{};
    bool parameter = false;
  };
  Joined joined(uint32_t index, uint32_t replay_block);
  // Of two values, beside `first`. `sure`: that it was given is known from what becomes of it, not from its shape
  // alone.
  Value* second(uint32_t index, uint32_t replay_block, const Value* first, bool& sure);
  // "x * 0.5": the number is made into a tensor of no dimensions.
  bool with_number(const Operation& operation) const;
  // "self.decay.exp()": nothing else of that shape is there. That parameter is computed from then on.
  bool made_of_parameter(uint32_t index, uint32_t replay_block);
  // Both values of a product, or of attention; null: not known.
  struct Pair {
    Value* left = nullptr;
    Value* right = nullptr;
  };
  Pair product(uint32_t index, int64_t numel, std::span<const int64_t> shape);
  // What attention that is computed by its formula casts to float32 and saves as that copy, its values. `until`: the
  // change before which nothing else holds them. null: not known.
  struct Attended {
    Value* values = nullptr;
    size_t until = 0;
  };
  // `replay_block`: the first that it makes of the queries.
  Attended attended(uint32_t index, uint32_t replay_block);
  // The change of its backward that makes the gradient of what `gather` chooses elements of; SIZE_MAX: not seen.
  size_t gathered_gradient(const Operation& operation) const;
  // On a CPU these gradients are added up in float32, in a buffer beside what this change makes.
  ReplayBlock gather_buffer(size_t change) const;
  // It saves a copy of what it is given, laid out otherwise.
  bool copies(const Operation& operation, int64_t numel) const;

 private:
  bool transposed_embedding(const Value& value, std::span<const int64_t> shape) const;

  const Replay& replay_;
  const Sample& base_;
  const Operations& operations_;
  const ReplayEdit& edit_;
  OperationWeights weights_;
  std::vector<Value> values_;
};

}  // namespace tensorscope::analyzer::forecast
