#include "forecast/autocast.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "forecast/play_edit.h"
#include "forecast/upcasts.h"
#include "tensorscope/rules/dtypes.h"

namespace tensorscope::analyzer::forecast {

namespace {

enum class Rule : uint8_t {
  follows,  // the type of what it is given, the wider one of two
  lower,    // 16 bits, and copies of float32 inputs
  float32
};

// From ATen/autocast_mode.h, as the operations are called in native stacks.
constexpr std::array<std::string_view, 22> kLower = {
    "_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "convolution", "addmm", "addmv", "matmul", "einsum", "mm", "mv", "linear", "addbmm", "baddbmm", "bmm", "lstm_cell",
    "gru_cell", "scaled_dot_product_attention"};
constexpr std::array<std::string_view, 28> kFloat32OnDevices = {
    "exp", "log", "log1p", "pow", "reciprocal", "rsqrt", "softplus", "layer_norm", "native_layer_norm", "rms_norm",
    "group_norm", "nll_loss", "nll_loss_nd", "nll_loss2d", "cross_entropy_loss", "kl_div", "l1_loss", "smooth_l1_loss",
    "huber_loss", "mse_loss", "binary_cross_entropy_with_logits", "logsumexp", "prod", "softmax", "log_softmax", "cumsum",
    "sum", "linalg_vector_norm"};
constexpr std::array<std::string_view, 11> kFloat32OnCpu = {
    "nll_loss", "nll_loss_nd", "nll_loss2d", "cross_entropy_loss", "binary_cross_entropy_with_logits", "mse_loss",
    "smooth_l1_loss", "kl_div", "prod", "huber_loss", "l1_loss"};
// Backward needs what these return; of others what they were given.
constexpr std::array<std::string_view, 9> kSavesResult = {"softmax", "log_softmax", "cross_entropy_loss", "relu", "relu_",
                                                          "sigmoid", "tanh", "exp", "dropout"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// "softmax" of "at::_ops::softmax_int::call": the overload is left out.
std::string_view operation_name(std::string_view function) {
  constexpr std::string_view kOps = "at::_ops::";
  const size_t at = function.find(kOps);
  if (at == function.npos) return {};
  function.remove_prefix(at + kOps.size());
  function = function.substr(0, function.find("::"));
  constexpr std::array<std::string_view, 7> kOverloads = {"_Tensor", "_Scalar", "_int", "_dim", "_padding", "_Tensor_Scalar", "_Dimname"};
  for (std::string_view overload : kOverloads) {
    if (function.ends_with(overload)) function.remove_suffix(overload.size());
  }
  return function;
}

class Autocaster {
 public:
  Autocaster(Play& play, const Sample& base) : play_(play), base_(base), upcasts_(base) {}

  void apply() {
    edit_.start(play_);
    find_weights();
    for (size_t i = 0; i < play_.changes.size(); ++i) {
      const auto [piece, made] = play_.changes[i];
      if (!made || play_.pieces[piece].block == kNone) continue;
      const Block& block = base_.blocks[play_.pieces[piece].block];
      if (block.optimizer || kept(play_.pieces[piece].category, block)) continue;
      if (block.backward) {
        backward(i, piece, block);
      } else {
        forward(i, piece, block);
      }
    }
    edit_.apply(play_);
  }

 private:
  struct Operation {
    Rule rule = Rule::follows;
    bool saves_result = false;
    bool in_attention_math = false;
  };
  // A float block of the forward pass.
  struct Made {
    uint32_t piece;
    int64_t rows, numel;
    double least, most;  // parts of its float32 bytes
    bool saves_result;
    bool cast = false;  // has a copy already
  };
  struct Weight {
    std::string module;
    int64_t rows;
    double bytes;
    size_t cast_until = 0;  // the copy is there up to this change
  };

  static bool kept(Category category, const Block& block) {
    return !block.shape_known || block.dtype != rules::kFloat32 || category == Category::parameter ||
           category == Category::buffer || category == Category::optimizer_state || category == Category::input_batch;
  }

  const Operation& operation(uint32_t site) {
    const auto [found, fresh] = operations_.try_emplace(site);
    if (!fresh || site >= base_.opened->dump.sites.size()) return found->second;
    const bool cpu = base_.device.is_cpu();
    // The outermost operation is the program's; it ends where the interpreter begins.
    std::string function;
    for (const Frame& frame : base_.opened->symbols.native(base_.opened->dump.sites[site].native)) {
      if (frame.function.find("_PyEval") != std::string::npos) break;
      const std::string_view inner = operation_name(frame.function);
      if (inner == "_scaled_dot_product_attention_math") found->second.in_attention_math = true;
      const bool of_others = cpu && (inner == "lstm_cell" || inner == "gru_cell");  // cast on devices alone
      if (!inner.empty() && !of_others) function = frame.function;
    }
    const std::string_view name = operation_name(function);
    if (is_one_of(kLower, name)) {
      found->second.rule = Rule::lower;
    } else if (cpu ? is_one_of(kFloat32OnCpu, name) : is_one_of(kFloat32OnDevices, name)) {
      found->second.rule = Rule::float32;
    }
    found->second.saves_result = is_one_of(kSavesResult, name);
    return found->second;
  }

  void find_weights() {
    const Dump& dump = base_.opened->dump;
    const Holders& holders = base_.opened->holders;
    for (size_t i = 0; i < dump.storages.size(); ++i) {
      const uint32_t speaker = holders.speaker(uint32_t(i));
      if (dump.storages[i].device != base_.device || speaker == kNone) continue;
      const Tensor& tensor = dump.tensors[speaker];
      if (holders.category(speaker) != Category::parameter || tensor.sizes.size() < 2) continue;
      weights_.push_back({holders.module(speaker), tensor.sizes[0], double(dump.storages[i].own_nbytes)});
    }
  }

  void set(uint32_t piece, double least, double most) {
    Piece& of = play_.pieces[piece];
    const double middle = (least + most) / 2;
    of.factor *= middle;
    of.unsure = middle == 0 ? 0 : (most - least) / 2 / middle;
  }
  uint32_t copy_of(uint32_t growth, double factor) {
    play_.pieces.push_back({kNone, growth, factor, 0, Category::saved_activation});
    return uint32_t(play_.pieces.size() - 1);
  }

  void forward(size_t i, uint32_t piece, const Block& block) {
    const std::span<const int64_t> shape = base_.shape(block);
    Made made{piece, 1, 1, 1, 1, false};
    for (int64_t dim : shape) made.numel *= dim;
    made.rows = shape.empty() || shape.back() == 0 ? 1 : made.numel / shape.back();
    const Operation& of = operation(block.site);
    made.saves_result = of.saves_result;
    if (of.in_attention_math) {
      saved_input_to_float32(i, block, made);  // its result is cast back: nothing follows these blocks
      types_[block.site] = {1, 1};
      return;
    }
    switch (of.rule) {
      case Rule::lower:
        made.least = made.most = 0.5;
        cast_inputs(i, block, made);
        break;
      case Rule::float32:
        cast_up(i, made);
        break;
      case Rule::follows:
        like_the_newest(made);
        break;
    }
    const Upcast upcast = upcasts_.at(block.site);
    if (upcast == Upcast::by_torch || upcast == Upcast::with_copy) {
      made.least = 1;
      made.most = !block.past_backward ? 1 : upcast == Upcast::by_torch ? 1.25 : 1.5;
    } else if (upcast == Upcast::possible && of.rule == Rule::follows) {
      made.most = 1;
    }
    set(piece, made.least, made.most);
    recent_.push_back(made);
    types_[block.site] = {made.least, made.most};
  }

  template <typename Fits>
  Made* newest(Fits fits) {
    constexpr size_t kLookBack = 64;
    for (size_t n = 0; n < std::min(kLookBack, recent_.size()); ++n) {
      Made& one = recent_[recent_.size() - 1 - n];
      if (fits(one)) return &one;
    }
    return nullptr;
  }

  // What it is given is one of the newest blocks of as many elements: where these have one type, it has that.
  void like_the_newest(Made& made) const {
    constexpr size_t kMost = 6;
    made.least = 1, made.most = 0;
    size_t seen = 0;
    for (auto one = recent_.rbegin(); one != recent_.rend() && seen < kMost; ++one) {
      if (one->numel != made.numel) continue;
      ++seen;
      made.least = std::min(made.least, one->least);
      made.most = std::max(made.most, std::min(one->most, 1.0));
    }
    if (seen == 0) made.most = 1;
  }

  // Half a block that a float32 operation is given is cast; those that do not need their result keep that for backward.
  void cast_up(size_t i, const Made& made) {
    const Made* given = newest([&](const Made& one) { return one.numel == made.numel; });
    if (given == nullptr || given->least > 0.5) return;
    const Piece of = play_.pieces[given->piece];
    const uint32_t copy = copy_of(of.growth, of.factor / ((given->least + given->most) / 2));
    const size_t freed = edit_.freed(given->piece);
    const bool saved = !made.saves_result && freed != SIZE_MAX && freed > i;
    edit_.make(i, copy);
    edit_.free(saved ? freed : i + 1, copy);
  }

  // Attention that is computed by its formula casts what it is given to float32 and computes all of it so. What it saves
  // itself of that, the values, is saved as the copy.
  void saved_input_to_float32(size_t i, const Block& block, const Made& made) {
    const std::string& module = base_.opened->places.module_path(block.site);
    Made* given = newest([&](const Made& one) {
      const Block& of = base_.blocks[play_.pieces[one.piece].block];
      return one.numel == made.numel && one.most <= 0.5 && !one.cast && of.past_backward &&
             base_.opened->places.module_path(of.site).starts_with(module);
    });
    if (given == nullptr) return;
    const size_t freed = edit_.freed(given->piece);
    if (freed == SIZE_MAX || freed < i) return;
    const Piece of = play_.pieces[given->piece];
    const uint32_t copy = copy_of(of.growth, of.factor / given->most);
    edit_.make(i, copy);
    edit_.free(i + 1, given->piece);
    edit_.free_instead(freed, copy);
    given->cast = true;
  }

  void cast_inputs(size_t i, const Block& block, const Made& made) {
    const std::string& module = base_.opened->places.module_path(block.site);
    const int64_t columns = made.rows == 0 ? 0 : made.numel / made.rows;
    for (Weight& weight : weights_) {
      if (weight.module != module || i < weight.cast_until) continue;
      cast_weight(i, weight);
    }
    if (std::ranges::none_of(weights_, [&](const Weight& weight) { return weight.module == module; })) {
      const auto found = std::ranges::find_if(weights_, [&](const Weight& weight) { return weight.rows == columns; });
      if (found != weights_.end() && i >= found->cast_until) cast_weight(i, *found);
    }
    Made* given = newest([&](const Made& one) { return one.rows == made.rows; });
    if (given == nullptr || given->most <= 0.5) return;
    const Piece of = play_.pieces[given->piece];
    const size_t freed = edit_.freed(given->piece);
    if (freed != SIZE_MAX && freed < i) return;
    const uint32_t copy = copy_of(of.growth, 0.5 * of.factor / ((given->least + given->most) / 2));
    edit_.make(i, copy);
    // What only this operation saved goes once the copy is there.
    if (!given->saves_result && !given->cast && base_.blocks[of.block].past_backward && freed != SIZE_MAX) {
      edit_.free(i + 1, given->piece);
      edit_.free_instead(freed, copy);
    } else if (freed != SIZE_MAX) {
      edit_.free(freed, copy);
    }
    given->cast = true;
  }

  // It stays until backward has used it, which makes the gradient.
  void cast_weight(size_t i, Weight& weight) {
    size_t until = play_.changes.size();
    for (size_t later = i + 1; later < play_.changes.size(); ++later) {
      const auto [piece, made] = play_.changes[later];
      if (!made || play_.pieces[piece].block == kNone) continue;
      const Block& block = base_.blocks[play_.pieces[piece].block];
      if (!block.backward || play_.pieces[piece].category != Category::gradient) continue;
      if (double(block.nbytes) != weight.bytes || base_.opened->places.module_path(block.forward) != weight.module) continue;
      until = later;
      break;
    }
    play_.growths.push_back(Growth::constant(weight.bytes));
    const uint32_t copy = copy_of(uint32_t(play_.growths.size() - 1), 0.5);
    edit_.make(i, copy);
    edit_.free(std::min(until + 1, play_.changes.size()), copy);
    weight.cast_until = until;
  }

  // A gradient of what an operation was given has that type; one of a weight is made in 16 bits and cast.
  void backward(size_t i, uint32_t piece, const Block& block) {
    if (play_.pieces[piece].category == Category::gradient) {
      if (operation(block.forward).rule != Rule::lower) return;
      const uint32_t copy = copy_of(play_.pieces[piece].growth, 0.5 * play_.pieces[piece].factor);
      edit_.make(i, copy);
      edit_.free(i + 1, copy);
      return;
    }
    const auto found = types_.find(block.forward);
    if (found == types_.end()) return;
    const auto [least, most] = found->second;
    if (operation(block.forward).rule == Rule::lower && upcasts_.at(block.forward) != Upcast::by_torch) {
      set(piece, 0.5, 1);
    } else {
      set(piece, least, std::min(most, 1.0));
    }
  }

  Play& play_;
  const Sample& base_;
  Upcasts upcasts_;
  PlayEdit edit_;
  std::vector<Weight> weights_;
  std::vector<Made> recent_;
  std::unordered_map<uint32_t, Operation> operations_;                // by site
  std::unordered_map<uint32_t, std::pair<double, double>> types_;     // by site of a forward operation
};

}  // namespace

void under_autocast(Play& play, const Sample& base) { Autocaster(play, base).apply(); }

}  // namespace tensorscope::analyzer::forecast
