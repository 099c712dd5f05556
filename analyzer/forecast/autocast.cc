#include "forecast/autocast.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "forecast/operations.h"
#include "forecast/play_edit.h"
#include "forecast/upcasts.h"
#include "tensorscope/rules/dtypes.h"

namespace tensorscope::analyzer::forecast {

namespace {

class Autocaster {
 public:
  Autocaster(Play& play, const Sample& base)
      : play_(play), base_(base), upcasts_(base), operations_(operations_of(play, base)) {
    results_.assign(operations_.all.size(), kNone);
    cast_numels_.resize(operations_.all.size());
  }

  void apply() {
    edit_.start(play_);
    find_weights();
    for (uint32_t i = 0; i < operations_.all.size(); ++i) forward(i);
    for (const Value& value : values_) free_casts(value);
    for (size_t i = 0; i < play_.changes.size(); ++i) {
      const auto [piece, made] = play_.changes[i];
      if (!made || play_.pieces[piece].block == kNone || operations_.of_piece[piece] == kNone) continue;
      if (base_.blocks[play_.pieces[piece].block].backward) backward(i, piece);
    }
    edit_.apply(play_);
  }

 private:
  struct Cast {
    uint32_t piece, operation;
    bool passing = false;  // not saved: the operation copies it again
  };
  // What an operation made, of a float type.
  struct Value {
    uint32_t piece, operation;
    int64_t numel;
    double least, most;   // parts of its float32 bytes
    size_t last_use = 0;  // the change after the last operation that was given it
    std::vector<Cast> casts;
  };
  struct Weight {
    std::string module;
    std::span<const int64_t> shape;
    int64_t rows, columns;
    double bytes;
    size_t cast_until = 0;  // the copy is there up to this change
    bool computed = false;  // the program works with what it computes from it
  };
  struct Type {
    double least = 0.5, most = 1;
    bool half() const { return most <= 0.5; }
    bool whole() const { return least >= 1; }
  };

  static bool stays(Category category) {
    return category == Category::parameter || category == Category::buffer || category == Category::optimizer_state;
  }
  const Block& block_of(uint32_t piece) const { return base_.blocks[play_.pieces[piece].block]; }
  std::span<const int64_t> shape_of(uint32_t piece) const { return base_.shape(block_of(piece)); }
  bool is_float(uint32_t piece) const {
    return block_of(piece).shape_known && block_of(piece).dtype == rules::kFloat32;
  }
  int64_t numel_of(uint32_t piece) const {
    int64_t numel = 1;
    for (int64_t dim : shape_of(piece)) numel *= dim;
    return numel;
  }
  const std::string& module_of(uint32_t operation) {
    return base_.opened->places.module_path(operations_.all[operation].site);
  }

  void find_weights() {
    const Dump& dump = base_.opened->dump;
    const Holders& holders = base_.opened->holders;
    for (size_t i = 0; i < dump.storages.size(); ++i) {
      const uint32_t speaker = holders.speaker(uint32_t(i));
      if (dump.storages[i].device != base_.device || speaker == kNone) continue;
      const Tensor& tensor = dump.tensors[speaker];
      if (holders.category(speaker) != Category::parameter || tensor.sizes.empty()) continue;
      const int64_t columns = tensor.sizes.size() < 2 ? 0 : tensor.sizes[1];
      weights_.push_back(
          {holders.module(speaker), tensor.sizes, tensor.sizes[0], columns, double(dump.storages[i].own_nbytes)});
    }
  }

  void set(uint32_t piece, Type type) {
    Piece& of = play_.pieces[piece];
    const double middle = (type.least + type.most) / 2;
    of.factor *= middle;
    of.unsure = middle == 0 ? 0 : (type.most - type.least) / 2 / middle;
  }
  // Of the float32 bytes of a value, or of a part of them.
  uint32_t copy_of(const Value& value, const Operation& maker, double part, double unsure = 0) {
    const Piece of = play_.pieces[value.piece];
    return add({kNone, of.growth, part * of.factor / ((value.least + value.most) / 2), unsure,
                Category::saved_activation, play_.pieces[maker.pieces.front()].block});
  }
  uint32_t add(const Piece& piece) {
    play_.pieces.push_back(piece);
    return uint32_t(play_.pieces.size() - 1);
  }
  // There while an operation runs.
  void passing(const Operation& operation, uint32_t piece) {
    edit_.make(operation.begin, piece);
    edit_.free(operation.end, piece);
  }

  // ---- what an operation was given ---------------------------------------------------------------------------------

  bool alive(const Value& value, size_t change) const { return edit_.freed(value.piece) > change; }
  // For backward: it is alive when that begins.
  bool saved_for(const Value& value, const Operation& operation) const {
    return alive(value, operation.begin) &&
           (operation.backward_begin == SIZE_MAX || alive(value, operation.backward_begin));
  }
  template <typename Fits>
  Value* newest(Fits fits) {
    constexpr size_t kLookBack = 96;
    for (size_t n = 0; n < std::min(kLookBack, values_.size()); ++n) {
      Value& one = values_[values_.size() - 1 - n];
      if (fits(one)) return &one;
    }
    return nullptr;
  }
  Value* newest_of(const Operation& operation, int64_t numel) {
    return newest([&](const Value& one) { return one.numel == numel && alive(one, operation.begin); });
  }

  // ---- forward -----------------------------------------------------------------------------------------------------

  void forward(uint32_t index) {
    const Operation& operation = operations_.all[index];
    if (operation.traits.rule == CastRule::lower && !operation.traits.in_attention_math) give_lower(index);
    int64_t largest = 0;
    for (uint32_t piece : operation.pieces) {
      if (is_float(piece)) largest = std::max(largest, numel_of(piece));
    }
    for (uint32_t piece : operation.pieces) {
      const Category category = play_.pieces[piece].category;
      if (stays(category)) continue;
      if (!is_float(piece)) {
        if (operation.traits.rule == CastRule::lower) halve_workspace(piece);
        continue;
      }
      const int64_t numel = numel_of(piece);
      Type type{1, 1};
      const bool statistic = operation.traits.norm && numel < largest;
      if (category != Category::input_batch && !statistic) type = type_of(index, piece, numel);
      set(piece, type);
      if (statistic) continue;
      results_[index] = uint32_t(values_.size());
      values_.push_back({piece, index, numel, std::min(type.least, 1.0), std::min(type.most, 1.0), operation.end, {}});
    }
  }

  // What a library works with, in no tensor: on a CPU tensors laid out otherwise, on devices workspaces of a fixed
  // size.
  void halve_workspace(uint32_t piece) {
    if (base_.device.is_cpu() && !block_of(piece).shape_known) set(piece, {0.5, 0.5});
  }

  Type type_of(uint32_t index, uint32_t piece, int64_t numel) {
    const Operation& operation = operations_.all[index];
    if (operation.traits.in_attention_math) {  // its result is cast back
      if (index == 0 || !operations_.all[index - 1].traits.in_attention_math) saved_input_to_float32(operation, numel);
      return {1, 1};
    }
    if (operation.traits.rule == CastRule::lower) return {0.5, 0.5};
    if (operation.traits.rule == CastRule::float32) {
      cast_up(operation, numel);
      return {1, 1};
    }
    Type type = given_type(index, piece, numel);
    const Upcast upcast = upcasts_.at(operation.site);
    // With a copy: the product that follows saves it, as it would save its own.
    if (upcast == Upcast::with_copy) return {1, 1};
    if (upcast == Upcast::possible) type.most = 1;
    return type;
  }

  Type given_type(uint32_t index, uint32_t piece, int64_t numel) {
    const Operation& operation = operations_.all[index];
    switch (operation.traits.kind) {
      case OperationKind::factory:
        return {1, 1};
      case OperationKind::binary:
        return type_of_two(index, piece, numel);
      case OperationKind::like_input:
        if (made_of_parameter(index, piece)) return {1, 1};
        if (Value* given = newest_of(operation, numel)) return use(operation, *given);
        break;
      case OperationKind::reshaping:
        break;
    }
    Value* given = newest(
        [&](const Value& one) { return one.operation != index && alive(one, operation.begin) && one.numel >= numel; });
    if (given == nullptr) return {};
    if (operation.traits.mean && base_.device.is_cpu() && given->most <= 0.5)
      passing(operation, copy_of(*given, operation, 1));
    return use(operation, *given);
  }
  static Type use(const Operation& operation, Value& value) {
    value.last_use = std::max(value.last_use, operation.end);
    return {value.least, value.most};
  }

  // The wider of two types. On a CPU what is narrower is cast before.
  Type type_of_two(uint32_t index, uint32_t piece, int64_t numel) {
    const Operation& operation = operations_.all[index];
    Value* first = newest_of(operation, numel);
    if (first == nullptr) {
      Value* any = newest([&](const Value& one) { return one.operation != index && alive(one, operation.begin); });
      return any == nullptr ? Type{} : use(operation, *any);
    }
    const Type one = use(operation, *first);
    if (with_number(operation)) return one;
    Type other{0.5, 0.5};
    bool sure = false;
    if (Value* second = second_input(index, piece, numel, first, sure)) other = use(operation, *second);
    if (takes_parameter(index, piece)) {
      other = {first->operation == index ? 0.5 : 1, 1};
      sure = true;
    }
    Type wider{std::max(one.least, other.least), std::max(one.most, other.most)};
    // What is computed from a parameter makes float32 of a part of the values: both may be others of as many elements.
    const bool mixed = std::ranges::any_of(
        weights_, [&](const Weight& weight) { return weight.computed && weight.module == module_of(index); });
    if (mixed && !sure && wider.whole() && edit_.freed(first->piece) >= operation.end) wider.least = 0.5;
    if (base_.device.is_cpu() && wider.whole() && (one.half() || other.half()) && first->numel == numel) {
      passing(operation, copy_of(*first, operation, 1));
    }
    return wider;
  }
  // "x * 0.5": the number is made into a tensor of no dimensions.
  bool with_number(const Operation& operation) const {
    return std::ranges::any_of(operation.pieces, [&](uint32_t piece) {
      return block_of(piece).shape_known ? block_of(piece).ndim == 0 : block_of(piece).nbytes <= 8;
    });
  }
  static bool broadcasts(std::span<const int64_t> own, std::span<const int64_t> shape) {
    if (own.empty() || own.size() > shape.size()) return false;
    for (size_t i = 1; i <= own.size(); ++i) {
      if (own[own.size() - i] != 1 && own[own.size() - i] != shape[shape.size() - i]) return false;
    }
    return true;
  }
  // "self.weight * x" in a norm, "scores + self.bias".
  bool takes_parameter(uint32_t index, uint32_t piece) {
    const std::string& module = module_of(index);
    return std::ranges::any_of(weights_, [&](const Weight& weight) {
      return weight.module == module && !weight.computed && broadcasts(weight.shape, shape_of(piece));
    });
  }
  // "self.decay.exp()": nothing else of that shape is there.
  bool made_of_parameter(uint32_t index, uint32_t piece) {
    const std::string& module = module_of(index);
    const std::span<const int64_t> shape = shape_of(piece);
    const auto alike = [&](const Value& one) {
      return one.operation != index && alive(one, operations_.all[index].begin) &&
             std::ranges::equal(shape_of(one.piece), shape);
    };
    if (shape.size() < 2 || newest(alike) != nullptr) return false;  // statistics of a norm have the shape of its bias
    const auto found = std::ranges::find_if(weights_, [&](const Weight& weight) {
      return weight.module == module && std::ranges::equal(weight.shape, shape);
    });
    if (found == weights_.end()) return false;
    found->computed = true;
    return true;
  }

  // `sure`: that it was given is known from what becomes of it, not from its shape alone.
  Value* second_input(uint32_t index, uint32_t piece, int64_t numel, const Value* first, bool& sure) {
    const Operation& operation = operations_.all[index];
    const auto may_be = [&](const Value& one) {
      return &one != first && one.operation != index && alive(one, operation.begin);
    };
    // Its last use is this one.
    if (Value* dying = newest([&](const Value& one) {
          return may_be(one) && one.numel == numel && edit_.freed(one.piece) < operation.end;
        })) {
      sure = true;
      return dying;
    }
    const std::span<const int64_t> shape = shape_of(piece);
    const auto broadcast = [&](const Value& one) {
      const std::span<const int64_t> own = shape_of(one.piece);
      return own.size() >= 2 && one.numel < numel && broadcasts(own, shape);
    };
    // A residual connection comes from outside of the modules that made the other input.
    const std::string below = module_of(index) + ".";
    const auto residual = [&](const Value& one) {
      const std::span<const int64_t> own = shape_of(one.piece);
      return operations_.all[one.operation].traits.stream && one.numel == numel && !shape.empty() && !own.empty() &&
             own.back() == shape.back() && !module_of(one.operation).starts_with(below);
    };
    if (Value* found = newest([&](const Value& one) { return may_be(one) && residual(one); })) {
      sure = true;
      return found;
    }
    const auto alike = [&](const Value& one) { return std::ranges::equal(shape_of(one.piece), shape); };
    if (Value* found = newest([&](const Value& one) { return may_be(one) && alike(one); })) return found;
    if (Value* found = newest([&](const Value& one) { return may_be(one) && broadcast(one); })) return found;
    return newest([&](const Value& one) { return may_be(one) && one.numel == numel; });
  }

  // Half a block that a float32 operation is given is cast; those that do not need their result keep that for backward.
  void cast_up(const Operation& operation, int64_t numel) {
    Value* given = newest_of(operation, numel);
    if (given == nullptr || given->least > 0.5 || operations_.all[given->operation].site == operation.site) return;
    use(operation, *given);
    const uint32_t copy = copy_of(*given, operation, 1, given->most > 0.5 ? 1 : 0);
    const size_t freed = edit_.freed(given->piece);
    const bool saved = !operation.traits.saves_result && freed != SIZE_MAX && freed > operation.end;
    edit_.make(operation.begin, copy);
    edit_.free(saved ? freed : operation.end, copy);
  }

  // Attention that is computed by its formula casts what it is given to float32 and computes all of it so. What it
  // saves itself of that, the values, is saved as the copy.
  void saved_input_to_float32(const Operation& operation, int64_t numel) {
    const std::string& module = base_.opened->places.module_path(operation.site);
    Value* given = newest([&](const Value& one) {
      return one.numel % numel == 0 && one.most <= 0.5 && block_of(one.piece).past_backward &&
             alive(one, operation.begin) && module_of(one.operation).starts_with(module);
    });
    if (given == nullptr) return;
    const size_t freed = edit_.freed(given->piece);
    if (freed == SIZE_MAX) return;
    const uint32_t copy = copy_of(*given, operation, double(numel) / double(given->numel));
    edit_.make(operation.begin, copy);
    edit_.free(operation.end, given->piece);
    edit_.free_instead(freed, copy);
  }

  // ---- operations in 16 bits ---------------------------------------------------------------------------------------

  void give_lower(uint32_t index) {
    const Operation& operation = operations_.all[index];
    uint32_t result = kNone;
    for (uint32_t piece : operation.pieces) {
      if (is_float(piece)) result = piece;
    }
    if (result == kNone || shape_of(result).empty()) return;
    const std::span<const int64_t> shape = shape_of(result);
    const bool convolves = shape.size() >= 3 && operation.traits.convolution;
    const int64_t columns = convolves ? shape[1] : shape.back();
    Weight* weight = weight_of(index, shape, convolves, columns);
    if (weight == nullptr) {
      give_product(index, numel_of(result), shape);
      return;
    }
    if (operation.begin >= weight->cast_until) cast_weight(operation, play_.pieces[result].block, *weight);
    const int64_t wanted = columns == 0 ? 0 : numel_of(result) / columns * weight->columns;
    Value* given = newest([&](const Value& one) {
      if (one.operation == index || !saved_for(one, operation)) return false;
      if (!convolves) return one.numel == wanted;
      const std::span<const int64_t> own = shape_of(one.piece);
      return own.size() == shape.size() && own[0] == shape[0] &&
             (own[1] % std::max<int64_t>(1, weight->columns) == 0 || own[1] == weight->rows);
    });
    if (given == nullptr && !convolves && wanted > 0) {  // a part of it
      given = newest([&](const Value& one) {
        return one.operation != index && one.numel % wanted == 0 && saved_for(one, operation);
      });
    }
    if (given != nullptr) cast_input(index, *given, convolves ? given->numel : wanted);
  }
  // A bias by position has three dimensions as well; a product of batches is as long as its weight.
  Weight* weight_of(uint32_t index, std::span<const int64_t> shape, bool convolves, int64_t columns) {
    const std::string& module = module_of(index);
    Weight* own = nullptr;
    Weight* below = nullptr;
    Weight* any = nullptr;
    for (Weight& weight : weights_) {
      if (weight.columns == 0) continue;
      if (!convolves && weight.shape.size() > 2 && weight.shape[0] != shape[0]) continue;
      if (weight.module == module && (own == nullptr || weight.rows == columns)) own = &weight;
      if (weight.rows != columns) continue;
      if (below == nullptr && weight.module.starts_with(module + ".")) below = &weight;
      if (any == nullptr) any = &weight;
    }
    if (own != nullptr) return own;
    return below != nullptr ? below : operations_.all[index].traits.linear ? any : nullptr;
  }

  // A product of two values, or attention.
  void give_product(uint32_t index, int64_t numel, std::span<const int64_t> shape) {
    const Operation& operation = operations_.all[index];
    if (shape.size() < 2 || numel == 0) return;
    const int64_t rows = shape[shape.size() - 2], columns = shape.back(), batch = numel / rows / columns;
    constexpr size_t kMost = 16;
    const std::string& module = module_of(index);
    const std::string around = module.substr(0, module.rfind('.') == module.npos ? 0 : module.rfind('.'));
    std::vector<Value*> saved;
    newest([&](Value& one) {
      const bool near = one.operation != index && module_of(one.operation).starts_with(around);
      const bool copied = alive(one, operation.begin) && copies(operation, one.numel);
      if (near && (copied || saved_for(one, operation))) saved.push_back(&one);
      return saved.size() == kMost;
    });
    for (Value* left : saved) {
      if (left->numel % (batch * rows) != 0) continue;
      const int64_t inner = left->numel / (batch * rows);
      for (Value* right : saved) {
        if (right == left || right->numel != batch * inner * columns) continue;
        cast_input(index, *left, left->numel);
        cast_input(index, *right, right->numel);
        return;
      }
    }
  }

  // It saves a copy of what it is given, laid out otherwise.
  bool copies(const Operation& operation, int64_t numel) const {
    return std::ranges::any_of(operation.pieces, [&](uint32_t piece) {
      return is_float(piece) && numel_of(piece) == numel && block_of(piece).past_backward &&
             piece != operation.pieces.back();
    });
  }

  void cast_input(uint32_t index, Value& given, int64_t numel) {
    const Operation& operation = operations_.all[index];
    use(operation, given);
    if (given.most <= 0.5) return;
    const bool unknown = given.least <= 0.5;
    const double part = 0.5 * double(numel) / double(given.numel);
    const uint32_t copy = copy_of(given, operation, unknown ? part / 2 : part, unknown ? 1 : 0);
    edit_.make(operation.begin, copy);
    given.casts.push_back({copy, index, copies(operation, numel)});
    if (!unknown) cast_numels_[index].push_back(numel);
  }

  // The copies are saved in its place. It goes once all are made, if backward needed it for these alone.
  void free_casts(const Value& value) {
    const size_t freed = edit_.freed(value.piece);
    bool theirs = false;
    for (const Cast& cast : value.casts) {
      const Operation& operation = operations_.all[cast.operation];
      const bool ends_with_it =
          freed != SIZE_MAX && operation.backward_begin <= freed && freed < operation.backward_end;
      if (ends_with_it && !theirs && !operations_.all[value.operation].traits.saves_result && !cast.passing) {
        theirs = true;
        edit_.free(value.last_use, value.piece);
        edit_.free_instead(freed, cast.piece);
        if (play_.pieces[cast.piece].unsure > 0) {  // half in any case
          play_.pieces[cast.piece].unsure = 0;
          play_.pieces[cast.piece].factor *= 2;
        }
      } else {
        const bool saved = operation.backward_end != SIZE_MAX && !cast.passing;
        edit_.free(saved ? operation.backward_end : operation.end, cast.piece);
      }
    }
  }

  // It stays until backward has used it, which makes the gradient.
  void cast_weight(const Operation& operation, uint32_t block, Weight& weight) {
    const size_t i = operation.begin;
    size_t until = play_.changes.size();
    for (size_t later = i + 1; later < play_.changes.size(); ++later) {
      const auto [piece, made] = play_.changes[later];
      if (!made || play_.pieces[piece].block == kNone) continue;
      const Block& block = base_.blocks[play_.pieces[piece].block];
      if (!block.backward || play_.pieces[piece].category != Category::gradient) continue;
      if (double(block.nbytes) != weight.bytes || base_.opened->places.module_path(block.forward) != weight.module)
        continue;
      until = later;
      break;
    }
    play_.growths.push_back(Growth::constant(weight.bytes));
    const uint32_t copy =
        add({kNone, uint32_t(play_.growths.size() - 1), 0.5, 0, Category::saved_activation, block, /*autocasts=*/true});
    edit_.make(i, copy);
    edit_.free(std::min(until + 1, play_.changes.size()), copy);
    weight.cast_until = until;
  }

  // ---- backward ----------------------------------------------------------------------------------------------------

  // A gradient of what an operation was given has that type; one of a weight is made in 16 bits and cast.
  void backward(size_t i, uint32_t piece) {
    const uint32_t index = operations_.of_piece[piece];
    const Operation& operation = operations_.all[index];
    const bool lower = operation.traits.rule == CastRule::lower && !operation.traits.in_attention_math;
    if (lower) halve_workspace(piece);
    if (!is_float(piece) || stays(play_.pieces[piece].category)) return;
    const bool parameters = play_.pieces[piece].category == Category::gradient;
    const bool cast = lower && (parameters || std::ranges::count(cast_numels_[index], numel_of(piece)) != 0);
    if (cast) {
      const Piece of = play_.pieces[piece];
      const uint32_t copy = add({kNone, of.growth, 0.5 * of.factor, 0, Category::backward_temporary, of.block});
      edit_.make(i, copy);
      edit_.free(i + 1, copy);
    }
    if (cast || parameters) return;
    if (lower) {
      set(piece, {0.5, 0.5});
      return;
    }
    if (results_[index] != kNone) set(piece, {values_[results_[index]].least, values_[results_[index]].most});
  }

  Play& play_;
  const Sample& base_;
  Upcasts upcasts_;
  PlayEdit edit_;
  const Operations operations_;
  std::vector<Weight> weights_;
  std::vector<Value> values_;
  std::vector<uint32_t> results_;                  // of each operation: the last of its values; kNone
  std::vector<std::vector<int64_t>> cast_numels_;  // of each operation: elements of the inputs that it casts
};

}  // namespace

void under_autocast(Play& play, const Sample& base) { Autocaster(play, base).apply(); }

}  // namespace tensorscope::analyzer::forecast
