// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/lower_casts.h"

#include <algorithm>
#include <span>

namespace tensorscope::analyzer::forecast {

bool LowerCasts::casts(uint32_t index, int64_t numel) const {
  return std::ranges::count(cast_numels_[index], numel) != 0;
}

void LowerCasts::give(uint32_t index) {
  const Operation& operation = run_.operations.all[index];
  const uint32_t result = run_.float_result(operation);
  if (result == kNone || run_.inputs.shape_of(result).empty()) return;
  const std::span<const int64_t> shape = run_.inputs.shape_of(result);
  const bool convolves = shape.size() >= 3 && operation.traits.convolution;
  const int64_t columns = convolves ? shape[1] : shape.back();
  if (operation.traits.in_layer) {
    give_layer(index, result, columns);
    return;
  }
  Weight* weight = run_.inputs.weights().weight_of(index, shape, convolves, columns);
  if (weight == nullptr) {
    const auto [left, right] = run_.inputs.product(index, run_.inputs.numel_of(result), shape);
    if (left == nullptr) return;
    cast_input(index, *left, left->numel);
    cast_input(index, *right, right->numel);
    return;
  }
  if (operation.begin >= weight->cast_until) cast_weight(operation, run_.replay.blocks[result].block, *weight);
  const int64_t wanted = columns == 0 ? 0 : run_.inputs.numel_of(result) / columns * weight->columns;
  Value* given = run_.inputs.newest([&](const Value& one) {
    if (one.operation == index || !run_.inputs.saved_for(one, operation)) return false;
    if (!convolves) return one.numel == wanted;
    const std::span<const int64_t> own = run_.inputs.shape_of(one.replay_block);
    const bool line = shape.size() == 4 && shape[2] == 1 && own.size() == 3;  // convolved as an image
    return (own.size() == shape.size() || line) && own[0] == shape[0] &&
           (own[1] % std::max<int64_t>(1, weight->columns) == 0 || own[1] == weight->rows);
  });
  if (given == nullptr && !convolves && wanted > 0) {  // a part of it
    given = run_.inputs.newest([&](const Value& one) {
      return one.operation != index && one.numel % wanted == 0 && run_.inputs.saved_for(one, operation);
    });
  }
  if (given != nullptr) cast_input(index, *given, convolves ? given->numel : wanted);
}

// A recurrent layer has weights for its input and for its state; autocast keeps the copies of all.
void LowerCasts::give_layer(uint32_t index, uint32_t result, int64_t columns) {
  const Operation& operation = run_.operations.all[index];
  Value* given = nullptr;
  for (Weight* weight : run_.inputs.weights().layer_weights(index, columns)) {
    if (operation.begin >= weight->cast_until) cast_weight(operation, run_.replay.blocks[result].block, *weight);
    const int64_t wanted = run_.inputs.numel_of(result) / columns * weight->columns;
    if (given == nullptr) {
      given = run_.inputs.newest([&](const Value& one) {
        return one.operation != index && one.numel == wanted && run_.inputs.saved_for(one, operation);
      });
    }
  }
  if (given != nullptr) cast_input(index, *given, given->numel);
}

void LowerCasts::cast_input(uint32_t index, Value& given, int64_t numel) {
  const Operation& operation = run_.operations.all[index];
  run_.use(operation, given);
  if (given.type.most <= 0.5) return;
  const bool unknown = given.type.least <= 0.5;
  const double part = 0.5 * double(numel) / double(given.numel);
  const uint32_t copy = run_.copy_of(given, operation, unknown ? part / 2 : part, unknown ? 1 : 0);
  run_.edit.make(operation.begin, copy);
  given.casts.push_back({copy, index, run_.inputs.copies(operation, numel)});
  if (!unknown) cast_numels_[index].push_back(numel);
}

// The copies are saved in its place. It goes once all are made, if backward needed it for these alone.
void LowerCasts::free_casts(const Value& value) {
  const size_t freed = run_.edit.freed(value.replay_block);
  bool theirs = false;
  for (const CastCopy& cast : value.casts) {
    const Operation& operation = run_.operations.all[cast.operation];
    const bool ends_with_it = freed != SIZE_MAX && operation.backward_begin <= freed && freed < operation.backward_end;
    if (ends_with_it && !theirs && !run_.operations.all[value.operation].traits.saves_result && !cast.passing) {
      theirs = true;
      run_.edit.free(value.last_use, value.replay_block);
      run_.edit.free_instead(freed, cast.replay_block);
      if (run_.replay.blocks[cast.replay_block].unsure > 0) {  // half in any case
        run_.replay.blocks[cast.replay_block].unsure = 0;
        run_.replay.blocks[cast.replay_block].factor *= 2;
      }
    } else {
      const bool saved = operation.backward_end != SIZE_MAX && !cast.passing;
      run_.edit.free(saved ? operation.backward_end : operation.end, cast.replay_block);
    }
  }
}

// It may be any operation, with copies of weights, and of what it is given.
void LowerCasts::give_unread(uint32_t index) {
  const Operation& operation = run_.operations.all[index];
  const uint32_t result = run_.float_result(operation);
  if (result == kNone) return;
  run_.replay.unread = true;
  const int64_t numel = run_.inputs.numel_of(result);
  const Value* given = run_.inputs.newest(
      [&](const Value& one) { return one.numel >= numel && run_.inputs.alive(one, operation.begin); });
  if (given != nullptr) {
    const uint32_t copy = run_.copy_of(*given, operation, 1);
    run_.replay.blocks[copy] = as_uncertainty(run_.replay.blocks[copy]);
    run_.keep_during(operation, copy);
  }
  if (run_.inputs.shape_of(result).empty()) return;
  for (Weight* weight : run_.inputs.weights().possible_weights(index, run_.inputs.shape_of(result))) {
    if (operation.begin < weight->cast_until) continue;
    const uint32_t copy = cast_weight(operation, run_.replay.blocks[result].block, *weight);
    run_.replay.blocks[copy] = as_uncertainty(run_.replay.blocks[copy]);
  }
}

// It stays until backward has used it, which makes the gradient.
uint32_t LowerCasts::cast_weight(const Operation& operation, uint32_t block, Weight& weight) {
  const size_t i = operation.begin;
  size_t until = run_.replay.changes.size();
  for (size_t later = i + 1; later < run_.replay.changes.size(); ++later) {
    const auto [replay_block, made] = run_.replay.changes[later];
    if (!made || run_.replay.blocks[replay_block].block == kNone) continue;
    const Block& block = run_.base.blocks[run_.replay.blocks[replay_block].block];
    if (!block.backward || run_.replay.blocks[replay_block].category != Category::gradient) continue;
    if (double(block.nbytes) != weight.bytes || run_.base.opened->places.module_path(block.forward) != weight.module)
      continue;
    until = later;
    break;
  }
  const uint32_t growth = run_.replay.add(Growth::constant(weight.bytes));
  const uint32_t copy =
      run_.replay.add(ReplayBlock{kNone, growth, 0.5, 0, Category::saved_activation, block, /*autocasts=*/true});
  run_.edit.keep_between(i, std::min(until + 1, run_.replay.changes.size()), copy);
  weight.cast_until = until;
  return copy;
}

}  // namespace tensorscope::analyzer::forecast
