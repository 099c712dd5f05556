// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/autocast.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "forecast/byte_buffers.h"
#include "forecast/operation_inputs.h"
#include "forecast/operations.h"
#include "forecast/whatif/float32_operations.h"
#include "forecast/whatif/replay_edit.h"

namespace tensorscope::analyzer::forecast {

namespace {

class Autocaster {
 public:
  Autocaster(Replay& replay, const Sample& base, const Operations& operations, std::vector<Weight> weights)
      : replay_(replay),
        base_(base),
        upcasts_(base),
        operations_(operations),
        inputs_(replay, base, operations, edit_, std::move(weights)) {
    results_.resize(operations_.all.size());
    cast_numels_.resize(operations_.all.size());
  }

  void apply() {
    edit_.start(replay_);
    for (uint32_t i = 0; i < operations_.all.size(); ++i) forward(i);
    for (const Value& value : inputs_.values()) free_casts(value);
    for (size_t i = 0; i < replay_.changes.size(); ++i) {
      const auto [piece, made] = replay_.changes[i];
      if (!made || replay_.blocks[piece].block == kNone || operations_.of_piece[piece] == kNone) continue;
      if (base_.blocks[replay_.blocks[piece].block].backward) backward(i, piece);
    }
    edit_.apply(replay_);
  }

 private:
  static bool stays(Category category) {
    return category == Category::parameter || category == Category::buffer || category == Category::optimizer_state;
  }
  void set(uint32_t piece, CastType type) {
    ReplayBlock& of = replay_.blocks[piece];
    const double middle = (type.least + type.most) / 2;
    of.factor *= middle;
    of.unsure = middle == 0 ? 0 : (type.most - type.least) / 2 / middle;
  }
  // Of the float32 bytes of a value, or of a part of them.
  uint32_t copy_of(const Value& value, const Operation& maker, double part, double unsure = 0) {
    const ReplayBlock of = replay_.blocks[value.piece];
    return replay_.add(ReplayBlock{kNone, of.growth, part * of.factor / ((value.type.least + value.type.most) / 2),
                                   unsure, Category::saved_activation, replay_.blocks[maker.blocks.front()].block});
  }
  // There while an operation runs.
  void passing(const Operation& operation, uint32_t piece) { edit_.pass(operation.begin, operation.end, piece); }

  // ---- forward -----------------------------------------------------------------------------------------------------

  void forward(uint32_t index) {
    const Operation& operation = operations_.all[index];
    if (operation.traits.rule == CastRule::lower && !operation.traits.in_attention_math) give_lower(index);
    if (operation.traits.unread) give_unread(index);
    int64_t largest = 0;
    for (uint32_t piece : operation.blocks) {
      if (inputs_.is_float(piece)) largest = std::max(largest, inputs_.numel_of(piece));
    }
    for (uint32_t piece : operation.blocks) {
      const Category category = replay_.blocks[piece].category;
      if (stays(category)) continue;
      if (!inputs_.is_float(piece)) {
        if (operation.traits.rule == CastRule::lower) halve_workspace(operation.begin, piece, {0.5, 0.5});
        if (operation.traits.unread) halve_workspace(operation.begin, piece, {});
        continue;
      }
      const int64_t numel = inputs_.numel_of(piece);
      CastType type{1, 1};
      computed_from_ = kNone;
      const bool statistic = operation.traits.norm && numel < largest;
      if (category != Category::input_batch && !statistic) type = type_of(index, piece, numel);
      set(piece, type);
      if (statistic) continue;
      results_[index] = type;
      // What comes out of attention is cast back.
      const CastType given = operation.traits.in_attention_math ? CastType{0.5, 0.5} : type;
      if (!is_hidden(index, piece)) inputs_.add(piece, index, given).made_from = computed_from_;
    }
  }

  // Whether the operation keeps it to itself: other operations are not given it.
  bool is_hidden(uint32_t index, uint32_t piece) {
    const Operation& operation = operations_.all[index];
    if (operation.traits.in_place || operation.traits.recurrent == RecurrentPart::gate) return true;
    if (operation.traits.dropout) return piece != operation.blocks.back();  // its mask
    const std::span<const int64_t> shape = inputs_.shape_of(piece);
    return operation.traits.in_layer && operation.traits.rule == CastRule::lower &&
           (shape.empty() || inputs_.layer_weights(index, shape.back()).empty());
  }

  // What a library works with: on a CPU tensors laid out otherwise, in no tensor; on devices workspaces of a fixed
  // size; buffers of recurrent layers. `change` makes it.
  void halve_workspace(size_t change, uint32_t piece, CastType type) {
    const Block& block = inputs_.block_of(piece);
    if (base_.device.is_cpu() && !block.shape_known) set(piece, type);
    if (!is_byte_buffer(block)) return;
    const auto [least, most] = kept_in_half(base_.device);
    scale_what_grows(replay_, edit_, change, piece, std::min(type.least, least), std::max(type.most, most));
  }

  CastType type_of(uint32_t index, uint32_t piece, int64_t numel) {
    const Operation& operation = operations_.all[index];
    if (operation.traits.unread) return {};
    if (operation.traits.in_attention_math) {
      if (!inputs_.shape_of(piece).empty() && !attends_) {  // the first that is no scale
        save_attended(index, piece);
        attends_ = true;
      }
      return {1, 1};
    }
    attends_ = false;
    if (operation.traits.rule == CastRule::lower) return {0.5, 0.5};
    if (operation.traits.rule == CastRule::float32) {
      if (!operation.traits.enlarges) {
        cast_up(operation, operation.traits.pools ? inputs_.pooled(index, piece) : inputs_.newest_of(operation, numel));
      }
      return {1, 1};
    }
    if (operation.traits.recurrent == RecurrentPart::gate) return {0.5, 0.5};
    if (operation.traits.in_place || operation.traits.recurrent == RecurrentPart::state) {
      Value* given = operation.traits.in_place ? inputs_.changed(index, piece) : inputs_.state_before(index, piece);
      return given == nullptr ? CastType{} : use(operation, *given);
    }
    CastType type = given_type(index, piece, numel);
    const Upcast upcast = upcasts_.at(operation.site);
    // With a copy: the product that follows saves it, as it would save its own.
    if (upcast == Upcast::with_copy) return {1, 1};
    if (upcast == Upcast::possible) type.most = 1;
    if (base_.opened->places.unread().line(operation.site)) {
      replay_.unread = true;
      type.most = 1;
    }
    return type;
  }

  CastType given_type(uint32_t index, uint32_t piece, int64_t numel) {
    const Operation& operation = operations_.all[index];
    switch (operation.traits.kind) {
      case OperationKind::factory:
        if (operation.traits.initial_state) break;
        return {1, 1};
      case OperationKind::binary:
        return type_of_two(index, piece, numel);
      case OperationKind::like_input:
        if (inputs_.made_of_parameter(index, piece)) return {1, 1};
        if (Value* given = inputs_.one(index, piece)) {
          computed_from_ = inputs_.index_of(*given);
          return use(operation, *given);
        }
        break;
      case OperationKind::joining:
        return type_of_joined(index, piece);
      case OperationKind::reshaping:
        if (!operation.traits.pads) break;
        if (Value* given = inputs_.padded(index, piece)) return use(operation, *given);
        break;
    }
    Value* given = inputs_.newest([&](const Value& one) {
      return one.operation != index && inputs_.alive(one, operation.begin) &&
             (operation.traits.initial_state ||
              (operation.traits.enlarges ? one.numel > 0 && one.numel < numel && numel % one.numel == 0
                                         : one.numel >= numel));
    });
    if (given == nullptr) return {};
    if (operation.traits.mean && base_.device.is_cpu() && given->type.most <= 0.5)
      passing(operation, copy_of(*given, operation, 1));
    return use(operation, *given);
  }
  static CastType use(const Operation& operation, Value& value) {
    value.last_use = std::max(value.last_use, operation.end);
    return value.type;
  }

  // The widest of its inputs.
  CastType type_of_joined(uint32_t index, uint32_t piece) {
    const OperationInputs::Joined joined = inputs_.joined(index, piece);
    if (operations_.all[index].traits.in_layer) keep_states(index, inputs_.numel_of(piece));
    CastType widest{0.5, joined.values.empty() ? 1 : 0.5};
    for (Value* given : joined.values) {
      const CastType one = use(operations_.all[index], *given);
      widest = {std::max(widest.least, one.least), std::max(widest.most, one.most)};
    }
    return joined.parameter ? CastType{1, 1} : widest;
  }

  // A recurrent layer of two directions keeps the states of both until what they gave is joined.
  void keep_states(uint32_t index, int64_t numel) {
    std::vector<Value>& values = inputs_.values();
    for (size_t i = values.size(); i-- > 0;) {
      const OperationTraits& maker = operations_.all[values[i].operation].traits;
      if (!maker.in_layer || (maker.kind == OperationKind::joining && values[i].numel >= numel)) return;
      if (maker.recurrent == RecurrentPart::state) use(operations_.all[index], values[i]);
    }
  }

  // The wider of two types. On a CPU what is narrower is cast before.
  CastType type_of_two(uint32_t index, uint32_t piece, int64_t numel) {
    const Operation& operation = operations_.all[index];
    Value* first = inputs_.newest_of(operation, numel);
    if (first == nullptr) {
      Value* any = inputs_.newest(
          [&](const Value& one) { return one.operation != index && inputs_.alive(one, operation.begin); });
      return any == nullptr ? CastType{} : use(operation, *any);
    }
    const CastType one = use(operation, *first);
    if (inputs_.with_number(operation)) return one;
    CastType other{0.5, 0.5};
    bool sure = false;
    if (Value* second = inputs_.second(index, piece, first, sure)) other = use(operation, *second);
    if (inputs_.takes_parameter(index, piece)) {
      other = {first->operation == index ? 0.5 : 1, 1};
      sure = true;
    }
    CastType wider{std::max(one.least, other.least), std::max(one.most, other.most)};
    // What is computed from a parameter makes float32 of a part of the values: both may be others of as many elements.
    const bool mixed = inputs_.computes_parameters(index);
    if (mixed && !sure && wider.whole() && edit_.freed(first->piece) >= operation.end) wider.least = 0.5;
    if (base_.device.is_cpu() && wider.whole() && (one.half() || other.half()) && first->numel == numel) {
      passing(operation, copy_of(*first, operation, 1));
    }
    return wider;
  }
  // Half a block that a float32 operation is given is cast; those that do not need their result keep that for backward.
  void cast_up(const Operation& operation, Value* given) {
    if (given == nullptr || given->type.least > 0.5 || operations_.all[given->operation].site == operation.site) return;
    use(operation, *given);
    const uint32_t copy = copy_of(*given, operation, 1, given->type.most > 0.5 ? 1 : 0);
    const size_t freed = edit_.freed(given->piece);
    const bool saved = !operation.traits.saves_result && freed != SIZE_MAX && freed > operation.end;
    edit_.pass(operation.begin, saved ? freed : operation.end, copy);
  }

  // Attention that is computed by its formula casts what it is given to float32 and computes all of it so.
  void save_attended(uint32_t index, uint32_t piece) {
    const auto [values, until] = inputs_.attended(index, piece);
    if (values == nullptr) return;
    const Operation& operation = operations_.all[index];
    const uint32_t copy = copy_of(*values, operation, double(inputs_.numel_of(piece)) / double(values->numel));
    edit_.save_instead(operation.begin, copy, values->piece, until);
  }

  // ---- operations in 16 bits ---------------------------------------------------------------------------------------

  void give_lower(uint32_t index) {
    const Operation& operation = operations_.all[index];
    uint32_t result = kNone;
    for (uint32_t piece : operation.blocks) {
      if (inputs_.is_float(piece)) result = piece;
    }
    if (result == kNone || inputs_.shape_of(result).empty()) return;
    const std::span<const int64_t> shape = inputs_.shape_of(result);
    const bool convolves = shape.size() >= 3 && operation.traits.convolution;
    const int64_t columns = convolves ? shape[1] : shape.back();
    if (operation.traits.in_layer) {
      give_layer(index, result, columns);
      return;
    }
    Weight* weight = inputs_.weight_of(index, shape, convolves, columns);
    if (weight == nullptr) {
      const auto [left, right] = inputs_.product(index, inputs_.numel_of(result), shape);
      if (left == nullptr) return;
      cast_input(index, *left, left->numel);
      cast_input(index, *right, right->numel);
      return;
    }
    if (operation.begin >= weight->cast_until) cast_weight(operation, replay_.blocks[result].block, *weight);
    const int64_t wanted = columns == 0 ? 0 : inputs_.numel_of(result) / columns * weight->columns;
    Value* given = inputs_.newest([&](const Value& one) {
      if (one.operation == index || !inputs_.saved_for(one, operation)) return false;
      if (!convolves) return one.numel == wanted;
      const std::span<const int64_t> own = inputs_.shape_of(one.piece);
      const bool line = shape.size() == 4 && shape[2] == 1 && own.size() == 3;  // convolved as an image
      return (own.size() == shape.size() || line) && own[0] == shape[0] &&
             (own[1] % std::max<int64_t>(1, weight->columns) == 0 || own[1] == weight->rows);
    });
    if (given == nullptr && !convolves && wanted > 0) {  // a part of it
      given = inputs_.newest([&](const Value& one) {
        return one.operation != index && one.numel % wanted == 0 && inputs_.saved_for(one, operation);
      });
    }
    if (given != nullptr) cast_input(index, *given, convolves ? given->numel : wanted);
  }

  // A recurrent layer has weights for its input and for its state; autocast keeps the copies of all.
  void give_layer(uint32_t index, uint32_t result, int64_t columns) {
    const Operation& operation = operations_.all[index];
    Value* given = nullptr;
    for (Weight* weight : inputs_.layer_weights(index, columns)) {
      if (operation.begin >= weight->cast_until) cast_weight(operation, replay_.blocks[result].block, *weight);
      const int64_t wanted = inputs_.numel_of(result) / columns * weight->columns;
      if (given == nullptr) {
        given = inputs_.newest([&](const Value& one) {
          return one.operation != index && one.numel == wanted && inputs_.saved_for(one, operation);
        });
      }
    }
    if (given != nullptr) cast_input(index, *given, given->numel);
  }

  void cast_input(uint32_t index, Value& given, int64_t numel) {
    const Operation& operation = operations_.all[index];
    use(operation, given);
    if (given.type.most <= 0.5) return;
    const bool unknown = given.type.least <= 0.5;
    const double part = 0.5 * double(numel) / double(given.numel);
    const uint32_t copy = copy_of(given, operation, unknown ? part / 2 : part, unknown ? 1 : 0);
    edit_.make(operation.begin, copy);
    given.casts.push_back({copy, index, inputs_.copies(operation, numel)});
    if (!unknown) cast_numels_[index].push_back(numel);
  }

  // The copies are saved in its place. It goes once all are made, if backward needed it for these alone.
  void free_casts(const Value& value) {
    const size_t freed = edit_.freed(value.piece);
    bool theirs = false;
    for (const CastCopy& cast : value.casts) {
      const Operation& operation = operations_.all[cast.operation];
      const bool ends_with_it =
          freed != SIZE_MAX && operation.backward_begin <= freed && freed < operation.backward_end;
      if (ends_with_it && !theirs && !operations_.all[value.operation].traits.saves_result && !cast.passing) {
        theirs = true;
        edit_.free(value.last_use, value.piece);
        edit_.free_instead(freed, cast.piece);
        if (replay_.blocks[cast.piece].unsure > 0) {  // half in any case
          replay_.blocks[cast.piece].unsure = 0;
          replay_.blocks[cast.piece].factor *= 2;
        }
      } else {
        const bool saved = operation.backward_end != SIZE_MAX && !cast.passing;
        edit_.free(saved ? operation.backward_end : operation.end, cast.piece);
      }
    }
  }

  // It may be any operation, with copies of weights, and of what it is given.
  void give_unread(uint32_t index) {
    const Operation& operation = operations_.all[index];
    uint32_t result = kNone;
    for (uint32_t piece : operation.blocks) {
      if (inputs_.is_float(piece)) result = piece;
    }
    if (result == kNone) return;
    replay_.unread = true;
    const int64_t numel = inputs_.numel_of(result);
    const Value* given =
        inputs_.newest([&](const Value& one) { return one.numel >= numel && inputs_.alive(one, operation.begin); });
    if (given != nullptr) {
      const uint32_t copy = copy_of(*given, operation, 1);
      replay_.blocks[copy] = as_uncertainty(replay_.blocks[copy]);
      passing(operation, copy);
    }
    if (inputs_.shape_of(result).empty()) return;
    for (Weight* weight : inputs_.possible_weights(index, inputs_.shape_of(result))) {
      if (operation.begin < weight->cast_until) continue;
      const uint32_t copy = cast_weight(operation, replay_.blocks[result].block, *weight);
      replay_.blocks[copy] = as_uncertainty(replay_.blocks[copy]);
    }
  }

  // It stays until backward has used it, which makes the gradient.
  uint32_t cast_weight(const Operation& operation, uint32_t block, Weight& weight) {
    const size_t i = operation.begin;
    size_t until = replay_.changes.size();
    for (size_t later = i + 1; later < replay_.changes.size(); ++later) {
      const auto [piece, made] = replay_.changes[later];
      if (!made || replay_.blocks[piece].block == kNone) continue;
      const Block& block = base_.blocks[replay_.blocks[piece].block];
      if (!block.backward || replay_.blocks[piece].category != Category::gradient) continue;
      if (double(block.nbytes) != weight.bytes || base_.opened->places.module_path(block.forward) != weight.module)
        continue;
      until = later;
      break;
    }
    const uint32_t growth = replay_.add(Growth::constant(weight.bytes));
    const uint32_t copy =
        replay_.add(ReplayBlock{kNone, growth, 0.5, 0, Category::saved_activation, block, /*autocasts=*/true});
    edit_.pass(i, std::min(until + 1, replay_.changes.size()), copy);
    weight.cast_until = until;
    return copy;
  }

  // ---- backward ----------------------------------------------------------------------------------------------------

  // A gradient of what an operation was given has that type; one of a weight is made in 16 bits and cast.
  void backward(size_t i, uint32_t piece) {
    const uint32_t index = operations_.of_piece[piece];
    const Operation& operation = operations_.all[index];
    const bool lower = operation.traits.rule == CastRule::lower && !operation.traits.in_attention_math;
    if (lower) halve_workspace(i, piece, {0.5, 0.5});
    if (operation.traits.unread) halve_workspace(i, piece, {});
    if (!inputs_.is_float(piece) || stays(replay_.blocks[piece].category)) return;
    if (operation.traits.gathers && base_.device.is_cpu()) add_up_gradients(i, operation, results_[index]);
    const bool parameters = replay_.blocks[piece].category == Category::gradient;
    const bool cast = lower && (parameters || std::ranges::count(cast_numels_[index], inputs_.numel_of(piece)) != 0);
    if (cast || operation.traits.unread) {
      const ReplayBlock of = replay_.blocks[piece];
      const ReplayBlock half = {kNone, of.growth, 0.5 * of.factor, 0, Category::backward_temporary, of.block};
      const uint32_t copy = replay_.add(cast ? half : as_uncertainty(half));
      edit_.make(i, copy);
      edit_.free(i + 1, copy);
    }
    if (cast || parameters) return;
    if (lower) {
      set(piece, {0.5, 0.5});
      return;
    }
    if (results_[index]) set(piece, *results_[index]);
  }

  void add_up_gradients(size_t i, const Operation& operation, const std::optional<CastType>& type) {
    if (!type || type->whole() || i != inputs_.gathered_gradient(operation)) return;
    const ReplayBlock buffer = inputs_.gather_buffer(i);
    edit_.pass(i + 1, i + 1, replay_.add(type->half() ? buffer : as_uncertainty(buffer)));
  }

  Replay& replay_;
  const Sample& base_;
  Upcasts upcasts_;
  ReplayEdit edit_;
  const Operations& operations_;
  OperationInputs inputs_;
  std::vector<std::optional<CastType>> results_;   // of each operation: the type of the last that it made
  bool attends_ = false;                           // within attention that is computed by its formula
  uint32_t computed_from_ = kNone;                 // the value that a type was taken from last
  std::vector<std::vector<int64_t>> cast_numels_;  // of each operation: elements of the inputs that it casts
};

}  // namespace

void under_autocast(Replay& replay, const Sample& base, const Operations& operations, std::vector<Weight> weights) {
  Autocaster(replay, base, operations, std::move(weights)).apply();
}

}  // namespace tensorscope::analyzer::forecast
