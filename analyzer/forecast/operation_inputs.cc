// SPDX-License-Identifier: Apache-2.0
#include "forecast/operation_inputs.h"

#include "forecast/shape_relations.h"
#include "tensorscope/rules/dtypes.h"

namespace tensorscope::analyzer::forecast {

namespace {

// Whether a module's path is another's, or below it.
bool within(std::string_view path, std::string_view module) {
  return path.starts_with(module) && (path.size() == module.size() || path[module.size()] == '.');
}

}  // namespace

Value& OperationInputs::add(uint32_t replay_block, uint32_t operation, CastType type) {
  return values_.emplace_back(
      Value{replay_block, operation, numel_of(replay_block), type, operations_.all[operation].end});
}

bool OperationInputs::is_float(uint32_t replay_block) const {
  return block_of(replay_block).shape_known && block_of(replay_block).dtype == rules::kFloat32;
}

bool OperationInputs::saved_for(const Value& value, const Operation& operation) const {
  return alive(value, operation.begin) &&
         (operation.backward_begin == SIZE_MAX || alive(value, operation.backward_begin));
}

Value* OperationInputs::newest_of(const Operation& operation, int64_t numel) {
  return newest([&](const Value& one) { return one.numel == numel && alive(one, operation.begin); });
}

// Lookups are rows of a matrix; views of them have the dimension of a row anywhere, as convolutions of a line want it.
bool OperationInputs::transposed_embedding(const Value& value, std::span<const int64_t> shape) const {
  const OperationTraits& maker = operations_.all[value.operation].traits;
  const std::span<const int64_t> own = shape_of(value.replay_block);
  return maker.kind == OperationKind::factory && maker.stream && own.size() == 2 &&
         std::ranges::find(shape, own.back()) != shape.end();
}

// ---- one value, two or more ---------------------------------------------------------------------------------------

// A value of its shape, or of as many elements; where a larger one was made since, a part of that.
Value* OperationInputs::one(uint32_t index, uint32_t replay_block) {
  const Operation& operation = operations_.all[index];
  const int64_t numel = numel_of(replay_block);
  Value* given = newest_of(operation, numel);
  // "self.both(x).chunk(2, 1)": what comes from outside of the module is older than what was made in it.
  const std::string& module = module_of(index);
  if (given != nullptr && !module.empty() && !within(module_of(given->operation), module)) {
    Value* whole = newest([&](const Value& one) {
      return one.operation != index && one.numel > numel && alive(one, operation.begin) &&
             within(module_of(one.operation), module) && is_part(shape_of(replay_block), shape_of(one.replay_block));
    });
    if (whole != nullptr && index_of(*whole) > index_of(*given)) return whole;
  }
  if (given == nullptr || numel == 0 || std::ranges::equal(shape_of(given->replay_block), shape_of(replay_block)))
    return given;
  return newest([&](const Value& one) {
    return one.operation != index && one.numel % numel == 0 && alive(one, operation.begin);
  });
}

Value* OperationInputs::padded(uint32_t index, uint32_t replay_block) {
  const std::span<const int64_t> shape = shape_of(replay_block);
  return newest([&](const Value& one) {
    return one.operation != index && one.numel <= numel_of(replay_block) && alive(one, operations_.all[index].begin) &&
           (fits_into(shape_of(one.replay_block), shape) || transposed_embedding(one, shape));
  });
}

// As many channels of each of the batch, and more places.
Value* OperationInputs::pooled(uint32_t index, uint32_t replay_block) {
  const std::span<const int64_t> shape = shape_of(replay_block);
  return newest([&](const Value& one) {
    const std::span<const int64_t> own = shape_of(one.replay_block);
    return one.operation != index && own.size() > 2 && own.size() == shape.size() &&
           one.numel > numel_of(replay_block) && alive(one, operations_.all[index].begin) &&
           std::ranges::equal(own.first(2), shape.first(2)) &&
           std::ranges::equal(own, shape, std::ranges::greater_equal());
  });
}

Value* OperationInputs::changed(uint32_t index, uint32_t replay_block) {
  const int64_t numel = numel_of(replay_block);
  return newest([&](const Value& one) {
    return one.operation != index && numel != 0 && one.numel % numel == 0 && alive(one, operations_.all[index].begin);
  });
}

// What it made last, or what it was given: all layers' first states may be one tensor.
Value* OperationInputs::state_before(uint32_t index, uint32_t replay_block) {
  const std::span<const int64_t> shape = shape_of(replay_block);
  return newest([&](const Value& one) {
    const OperationTraits& maker = operations_.all[one.operation].traits;
    const std::span<const int64_t> own = shape_of(one.replay_block);
    const bool fits = own.size() >= shape.size() && std::ranges::equal(own.last(shape.size()), shape);
    return one.operation != index && fits && (maker.recurrent == RecurrentPart::state || !maker.in_layer) &&
           alive(one, operations_.all[index].begin);
  });
}

// Values of its shape but for one dimension, all of one shape where a loop made them. The rest may be a part of the
// same value, one value of as many elements, or a parameter.
OperationInputs::Joined OperationInputs::joined(uint32_t index, uint32_t replay_block) {
  const Operation& operation = operations_.all[index];
  const std::span<const int64_t> shape = shape_of(replay_block);
  int64_t left = numel_of(replay_block);
  Joined found;
  constexpr size_t kLongLoop = 4096;
  const auto take = [&](auto fits) {
    const auto taken = [&](Value& one) {
      const bool may_be = one.operation != index && one.numel != 0 && one.numel <= left &&
                          alive(one, operation.begin) && std::ranges::find(found.values, &one) == found.values.end();
      if (may_be && fits(one)) {
        found.values.push_back(&one);
        left -= one.numel;
      }
      return left == 0;
    };
    newest(taken, kLongLoop);
  };
  const auto fits = [&](const Value& one) { return joins(shape_of(one.replay_block), shape); };
  // Of a chain of operations only the last is joined, if others are there.
  const auto went_into = [&](const Value& one) {
    return std::ranges::any_of(found.values, [&](const Value* value) {
      while (value->made_from != kNone && value != &one) value = &values_[value->made_from];
      return value == &one;
    });
  };
  take([&](const Value& one) {
    return fits(one) && !went_into(one) &&
           (found.values.empty() ||
            std::ranges::equal(shape_of(one.replay_block), shape_of(found.values[0]->replay_block)));
  });
  constexpr size_t kLoop = 4;
  if (found.values.size() >= kLoop) return found;
  if (left != 0) take([&](const Value& one) { return fits(one) && !went_into(one); });
  if (left != 0) take([&](const Value& one) { return one.numel == left && !went_into(one); });
  if (left != 0) take(fits);
  if (left != 0) take([&](const Value& one) { return 2 * one.numel == numel_of(replay_block); });
  if (left != 0) take([&](const Value&) { return found.values.empty(); });
  found.parameter = left != 0 && weights_.may_join(index, left);
  return found;
}

bool OperationInputs::with_number(const Operation& operation) const {
  return std::ranges::any_of(operation.blocks, [&](uint32_t replay_block) {
    return block_of(replay_block).shape_known ? block_of(replay_block).ndim == 0 : block_of(replay_block).nbytes <= 8;
  });
}

bool OperationInputs::made_of_parameter(uint32_t index, uint32_t replay_block) {
  const std::span<const int64_t> shape = shape_of(replay_block);
  const auto alike = [&](const Value& one) {
    return one.operation != index && alive(one, operations_.all[index].begin) &&
           std::ranges::equal(shape_of(one.replay_block), shape);
  };
  if (shape.size() < 2 || newest(alike) != nullptr) return false;  // statistics of a norm have the shape of its bias
  return weights_.compute(index, shape);
}

Value* OperationInputs::second(uint32_t index, uint32_t replay_block, const Value* first, bool& sure) {
  const Operation& operation = operations_.all[index];
  const int64_t numel = numel_of(replay_block);
  const auto may_be = [&](const Value& one) {
    return &one != first && one.operation != index && alive(one, operation.begin);
  };
  // Its last use is this one.
  if (Value* dying = newest([&](const Value& one) {
        return may_be(one) && one.numel == numel && edit_.freed(one.replay_block) < operation.end;
      })) {
    sure = true;
    return dying;
  }
  const std::span<const int64_t> shape = shape_of(replay_block);
  const auto broadcast = [&](const Value& one) {
    const std::span<const int64_t> own = shape_of(one.replay_block);
    return own.size() >= 2 && one.numel < numel && broadcasts(own, shape);
  };
  // A residual connection is added, and comes from outside of the modules that made the other input.
  const std::string below = module_of(index) + ".";
  const auto residual = [&](const Value& one) {
    const std::span<const int64_t> own = shape_of(one.replay_block);
    return operation.traits.stream && operations_.all[one.operation].traits.stream && one.numel == numel &&
           !shape.empty() && !own.empty() && (own.back() == shape.back() || transposed_embedding(one, shape)) &&
           !module_of(one.operation).starts_with(below);
  };
  if (Value* found = newest([&](const Value& one) { return may_be(one) && residual(one); })) {
    sure = true;
    return found;
  }
  const auto alike = [&](const Value& one) { return std::ranges::equal(shape_of(one.replay_block), shape); };
  if (Value* found = newest([&](const Value& one) { return may_be(one) && alike(one); })) return found;
  if (Value* found = newest([&](const Value& one) { return may_be(one) && broadcast(one); })) return found;
  return newest([&](const Value& one) { return may_be(one) && one.numel == numel; });
}

// ---- products ------------------------------------------------------------------------------------------------------

OperationInputs::Pair OperationInputs::product(uint32_t index, int64_t numel, std::span<const int64_t> shape) {
  const Operation& operation = operations_.all[index];
  if (shape.size() < 2 || numel == 0) return {};
  const int64_t rows = shape[shape.size() - 2], columns = shape.back(), batch = numel / rows / columns;
  constexpr size_t kMax = 16;
  const std::string& module = module_of(index);
  const std::string around = module.substr(0, module.rfind('.') == module.npos ? 0 : module.rfind('.'));
  std::vector<Value*> saved;
  newest([&](Value& one) {
    const bool near = one.operation != index && module_of(one.operation).starts_with(around);
    const bool copied = alive(one, operation.begin) && copies(operation, one.numel);
    if (near && (copied || saved_for(one, operation))) saved.push_back(&one);
    return saved.size() == kMax;
  });
  for (Value* left : saved) {
    if (left->numel % (batch * rows) != 0) continue;
    const int64_t inner = left->numel / (batch * rows);
    for (Value* right : saved) {
      if (right != left && right->numel == batch * inner * columns) return {left, right};
    }
  }
  return {};
}

OperationInputs::Attended OperationInputs::attended(uint32_t index, uint32_t replay_block) {
  const Operation& operation = operations_.all[index];
  const int64_t numel = numel_of(replay_block);
  Value* values = newest([&](const Value& one) {
    return numel != 0 && one.numel % numel == 0 && one.type.half() && block_of(one.replay_block).past_backward &&
           alive(one, operation.begin) && module_of(one.operation).starts_with(module_of(index));
  });
  if (values == nullptr || edit_.freed(values->replay_block) == SIZE_MAX) return {};
  // Keys come from the same code, and the formula does not save them: as long as those are held, as in a cache of both,
  // values are.
  const Dump& dump = base_.opened->dump;
  const auto code_of = [&](const Value& one) {
    return dump.python_frames[dump.sites[operations_.all[one.operation].site].python].code;
  };
  const Value* keys = newest([&](const Value& one) {
    return index_of(one) < index_of(*values) && alive(one, operation.begin) && code_of(one) == code_of(*values) &&
           !block_of(one.replay_block).past_backward &&
           std::ranges::equal(shape_of(one.replay_block), shape_of(values->replay_block));
  });
  const size_t held = keys == nullptr ? 0 : edit_.freed(keys->replay_block);
  return {values, held < edit_.freed(values->replay_block) ? std::max(held, operation.end) : operation.end};
}

// The largest: views of its result have gradients as well.
size_t OperationInputs::gathered_gradient(const Operation& operation) const {
  size_t found = SIZE_MAX;
  if (operation.backward_begin == SIZE_MAX) return found;
  for (size_t i = operation.backward_begin; i < operation.backward_end; ++i) {
    const auto [replay_block, made] = replay_.changes[i];
    if (!made || replay_.blocks[replay_block].block == kNone || !is_float(replay_block)) continue;
    if (found == SIZE_MAX || numel_of(replay_block) > numel_of(replay_.changes[found].block)) found = i;
  }
  return found;
}

ReplayBlock OperationInputs::gather_buffer(size_t change) const {
  const ReplayBlock& of = replay_.blocks[replay_.changes[change].block];
  return {kNone, of.growth, of.factor, 0, Category::backward_temporary, of.block};
}

bool OperationInputs::copies(const Operation& operation, int64_t numel) const {
  return std::ranges::any_of(operation.blocks, [&](uint32_t replay_block) {
    return is_float(replay_block) && numel_of(replay_block) == numel && block_of(replay_block).past_backward &&
           replay_block != operation.blocks.back();
  });
}

}  // namespace tensorscope::analyzer::forecast
