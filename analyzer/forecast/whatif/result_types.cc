// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/result_types.h"

#include <algorithm>
#include <span>
#include <vector>

namespace tensorscope::analyzer::forecast {

CastType ResultTypes::type_of(uint32_t index, uint32_t replay_block, int64_t numel) {
  computed_from_ = kNone;
  return result(index, replay_block, numel);
}

CastType ResultTypes::result(uint32_t index, uint32_t replay_block, int64_t numel) {
  const Operation& operation = run_.operations.all[index];
  if (operation.traits.unread) return {};
  if (operation.traits.in_attention_math) {
    if (!run_.inputs.shape_of(replay_block).empty() && !attends_) {  // the first that is no scale
      save_attended(index, replay_block);
      attends_ = true;
    }
    return {1, 1};
  }
  attends_ = false;
  if (operation.traits.rule == CastRule::lower) return {0.5, 0.5};
  if (operation.traits.rule == CastRule::float32) {
    if (!operation.traits.enlarges) {
      cast_up(operation, operation.traits.pools ? run_.inputs.pooled(index, replay_block)
                                                : run_.inputs.newest_of(operation, numel));
    }
    return {1, 1};
  }
  if (operation.traits.recurrent == RecurrentPart::gate) return {0.5, 0.5};
  if (operation.traits.in_place || operation.traits.recurrent == RecurrentPart::state) {
    Value* given = operation.traits.in_place ? run_.inputs.changed(index, replay_block)
                                             : run_.inputs.state_before(index, replay_block);
    return given == nullptr ? CastType{} : run_.use(operation, *given);
  }
  CastType type = given_type(index, replay_block, numel);
  const Upcast upcast = upcasts_.at(operation.site);
  // With a copy: the product that follows saves it, as it would save its own.
  if (upcast == Upcast::with_copy) return {1, 1};
  if (upcast == Upcast::possible) type.most = 1;
  if (run_.base.opened->places.unread().line(operation.site)) {
    run_.replay.unread = true;
    type.most = 1;
  }
  return type;
}

CastType ResultTypes::given_type(uint32_t index, uint32_t replay_block, int64_t numel) {
  const Operation& operation = run_.operations.all[index];
  switch (operation.traits.kind) {
    case OperationKind::factory:
      if (operation.traits.initial_state) break;
      return {1, 1};
    case OperationKind::binary:
      return type_of_two(index, replay_block, numel);
    case OperationKind::like_input:
      if (run_.inputs.made_of_parameter(index, replay_block)) return {1, 1};
      if (Value* given = run_.inputs.one(index, replay_block)) {
        computed_from_ = run_.inputs.index_of(*given);
        return run_.use(operation, *given);
      }
      break;
    case OperationKind::joining:
      return type_of_joined(index, replay_block);
    case OperationKind::reshaping:
      if (!operation.traits.pads) break;
      if (Value* given = run_.inputs.padded(index, replay_block)) return run_.use(operation, *given);
      break;
  }
  Value* given = run_.inputs.newest([&](const Value& one) {
    return one.operation != index && run_.inputs.alive(one, operation.begin) &&
           (operation.traits.initial_state ||
            (operation.traits.enlarges ? one.numel > 0 && one.numel < numel && numel % one.numel == 0
                                       : one.numel >= numel));
  });
  if (given == nullptr) return {};
  if (operation.traits.mean && run_.base.device.is_cpu() && given->type.most <= 0.5)
    run_.keep_during(operation, run_.copy_of(*given, operation, 1));
  return run_.use(operation, *given);
}
// The widest of its inputs.
CastType ResultTypes::type_of_joined(uint32_t index, uint32_t replay_block) {
  const OperationInputs::Joined joined = run_.inputs.joined(index, replay_block);
  if (run_.operations.all[index].traits.in_layer) keep_states(index, run_.inputs.numel_of(replay_block));
  CastType widest{0.5, joined.values.empty() ? 1 : 0.5};
  for (Value* given : joined.values) {
    const CastType one = run_.use(run_.operations.all[index], *given);
    widest = {std::max(widest.least, one.least), std::max(widest.most, one.most)};
  }
  return joined.parameter ? CastType{1, 1} : widest;
}

// A recurrent layer of two directions keeps the states of both until what they gave is joined.
void ResultTypes::keep_states(uint32_t index, int64_t numel) {
  std::vector<Value>& values = run_.inputs.values();
  for (size_t i = values.size(); i-- > 0;) {
    const OperationTraits& maker = run_.operations.all[values[i].operation].traits;
    if (!maker.in_layer || (maker.kind == OperationKind::joining && values[i].numel >= numel)) return;
    if (maker.recurrent == RecurrentPart::state) run_.use(run_.operations.all[index], values[i]);
  }
}

// The wider of two types. On a CPU what is narrower is cast before.
CastType ResultTypes::type_of_two(uint32_t index, uint32_t replay_block, int64_t numel) {
  const Operation& operation = run_.operations.all[index];
  Value* first = run_.inputs.newest_of(operation, numel);
  if (first == nullptr) {
    Value* any = run_.inputs.newest(
        [&](const Value& one) { return one.operation != index && run_.inputs.alive(one, operation.begin); });
    return any == nullptr ? CastType{} : run_.use(operation, *any);
  }
  const CastType one = run_.use(operation, *first);
  if (run_.inputs.with_number(operation)) return one;
  CastType other{0.5, 0.5};
  bool sure = false;
  if (Value* second = run_.inputs.second(index, replay_block, first, sure)) other = run_.use(operation, *second);
  if (run_.inputs.weights().is_broadcast(index, run_.inputs.shape_of(replay_block))) {
    other = {first->operation == index ? 0.5 : 1, 1};
    sure = true;
  }
  CastType wider{std::max(one.least, other.least), std::max(one.most, other.most)};
  // What is computed from a parameter makes float32 of a part of the values: both may be others of as many elements.
  const bool mixed = run_.inputs.weights().computes(index);
  if (mixed && !sure && wider.whole() && run_.edit.freed(first->replay_block) >= operation.end) wider.least = 0.5;
  if (run_.base.device.is_cpu() && wider.whole() && (one.half() || other.half()) && first->numel == numel) {
    run_.keep_during(operation, run_.copy_of(*first, operation, 1));
  }
  return wider;
}
// Half a block that a float32 operation is given is cast; those that do not need their result keep that for backward.
void ResultTypes::cast_up(const Operation& operation, Value* given) {
  if (given == nullptr || given->type.least > 0.5 || run_.operations.all[given->operation].site == operation.site)
    return;
  run_.use(operation, *given);
  const uint32_t copy = run_.copy_of(*given, operation, 1, given->type.most > 0.5 ? 1 : 0);
  const size_t freed = run_.edit.freed(given->replay_block);
  const bool saved = !operation.traits.saves_result && freed != SIZE_MAX && freed > operation.end;
  run_.edit.keep_between(operation.begin, saved ? freed : operation.end, copy);
}

// Attention that is computed by its formula casts what it is given to float32 and computes all of it so.
void ResultTypes::save_attended(uint32_t index, uint32_t replay_block) {
  const auto [values, until] = run_.inputs.attended(index, replay_block);
  if (values == nullptr) return;
  const Operation& operation = run_.operations.all[index];
  const uint32_t copy =
      run_.copy_of(*values, operation, double(run_.inputs.numel_of(replay_block)) / double(values->numel));
  run_.edit.save_instead(operation.begin, copy, values->replay_block, until);
}

}  // namespace tensorscope::analyzer::forecast
