// SPDX-License-Identifier: Apache-2.0
#include "forecast/operations.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "symbols/user_code.h"

namespace tensorscope::analyzer::forecast {

namespace {

// Layers of torch.nn, of other operations.
constexpr std::array<std::string_view, 8> kRecurrentLayers = {"gru_input",      "gru_data",       "lstm_input",
                                                              "lstm_data",      "rnn_tanh_input", "rnn_tanh_data",
                                                              "rnn_relu_input", "rnn_relu_data"};
constexpr std::array<std::string_view, 4> kCells = {"lstm_cell", "gru_cell", "rnn_tanh_cell",
                                                    "rnn_relu_cell"};  // cast on devices alone
// Backward needs what these return; of others what they were given.
constexpr std::array<std::string_view, 9> kSavesResult = {
    "softmax", "log_softmax", "cross_entropy_loss", "relu", "relu_", "sigmoid", "tanh", "exp", "dropout"};
constexpr std::array<std::string_view, 15> kBinary = {"add",     "add_",    "sub",     "sub_",    "rsub",
                                                      "mul",     "mul_",    "div",     "div_",    "where",
                                                      "maximum", "minimum", "addcmul", "addcdiv", "lerp"};
constexpr std::array<std::string_view, 6> kJoining = {"cat", "concat", "concatenate", "stack", "hstack", "vstack"};
constexpr std::array<std::string_view, 14> kReshaping = {"mean",          "sum",
                                                         "max",           "min",
                                                         "amax",          "amin",
                                                         "var",           "index",
                                                         "index_select",  "gather",
                                                         "pad",           "constant_pad_nd",
                                                         "pixel_shuffle", "repeat_interleave"};
constexpr std::array<std::string_view, 11> kFactories = {
    "embedding", "zeros", "ones", "full", "empty", "randn", "rand", "arange", "eye", "linspace", "scalar_tensor"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// "softmax" of "at::_ops::softmax_int::call": the overload is left out.
std::string_view operation_name(std::string_view function) {
  std::string_view name = dispatched_overload(function);
  constexpr std::array<std::string_view, 13> kOverloads = {
      "_Tensor",      "_Scalar", "_int",         "_dim",        "_padding",    "_self", "_Dimname",
      "_ScalarOther", "_mode",   "_dim_IntList", "_correction", "_ScalarSelf", "_vec"};
  for (bool again = true; again;) {
    again = false;
    for (std::string_view overload : kOverloads) {
      if (!name.ends_with(overload) || name.size() == overload.size()) continue;
      name.remove_suffix(overload.size());
      again = true;
    }
  }
  return name;
}

// `layer`: of torch.nn, by its operation; "": in none.
RecurrentPart recurrent_part(std::string_view layer, std::string_view name) {
  constexpr std::array<std::string_view, 6> kOfTheLoop = {"add", "sub", "mul", "tanh", "relu", "sigmoid"};
  if (layer.empty() || !is_one_of(kOfTheLoop, name)) return RecurrentPart::none;
  if (layer.starts_with("gru")) return name == "sub" ? RecurrentPart::state : RecurrentPart::gate;
  return layer.starts_with("lstm") ? RecurrentPart::state : RecurrentPart::gate;
}

// What a site belongs to: all that one call of an operation makes, at different places of torch, has the same `call`.
struct SiteOperation {
  OperationTraits traits;
  std::pair<uint32_t, uint32_t> call;  // Python and native frame that it was called in; the second kNone: not known
};

SiteOperation operation_at(uint32_t site, const Sample& base) {
  const Dump& dump = base.opened->dump;
  SiteOperation found{{}, {site, kNone}};
  if (site >= dump.sites.size()) return found;
  const bool cpu = base.device.is_cpu();
  // The outermost operation is the program's; it ends where the interpreter begins.
  std::string function, layer;
  bool in_attention_math = false, mean = false;
  uint32_t native = dump.sites[site].native, outermost = kNone;
  for (const Frame& frame : base.opened->symbols.native(native)) {
    if (frame.function.find("_PyEval") != std::string::npos) break;
    const std::string_view inner = operation_name(frame.function);
    if (inner == "_scaled_dot_product_attention_math") in_attention_math = true;
    if (inner == "mean") mean = true;
    if (is_one_of(kRecurrentLayers, inner)) layer = inner;
    if (!inner.empty() && !is_one_of(kRecurrentLayers, inner) && !(cpu && is_one_of(kCells, inner))) {
      function = frame.function;
      outermost = native;
    }
    if (!frame.inlined) native = dump.native_frames[native].parent;
  }
  found.traits = traits_of(operation_name(function), cpu);
  found.traits.in_attention_math = in_attention_math;
  found.traits.mean = mean;
  found.traits.in_layer = !layer.empty();
  found.traits.recurrent = recurrent_part(layer, operation_name(function));
  const std::string& file = dump.codes[dump.python_frames[dump.sites[site].python].code].file;
  found.traits.unread = base.opened->places.unread().operation(site);
  found.traits.initial_state = file.ends_with("torch/nn/modules/rnn.py");
  if (found.traits.norm || found.traits.dropout) found.call = {dump.sites[site].python, outermost};
  return found;
}

}  // namespace

OperationTraits traits_of(std::string_view name, bool cpu) {
  OperationTraits traits;
  traits.rule = cast_rule(name, cpu);
  traits.pools = name.find("pool") != name.npos;
  if (is_one_of(kBinary, name)) {
    traits.kind = OperationKind::binary;
  } else if (is_one_of(kJoining, name)) {
    traits.kind = OperationKind::joining;
  } else if (traits.pools || is_one_of(kReshaping, name) || name.starts_with("upsample")) {
    traits.kind = OperationKind::reshaping;
  } else if (is_one_of(kFactories, name)) {
    traits.kind = OperationKind::factory;
  }
  traits.convolution = name.find("conv") != name.npos;
  traits.linear = name == "linear" || name == "addmm";
  traits.enlarges = name.starts_with("upsample");
  traits.pads = name == "pad" || name == "constant_pad_nd";
  traits.gathers = name == "gather";
  traits.dropout = name.ends_with("dropout");
  traits.saves_result = is_one_of(kSavesResult, name);
  traits.norm = name.ends_with("_norm");
  traits.in_place = name.size() > 1 && name.ends_with('_');
  traits.stream = traits.norm || name == "add" || name == "embedding";
  return traits;
}

namespace {

// Names that are known from earlier, in part, would not tell what the other operations give on.
void forget_if_unread(Operations& operations, const Sample& base) {
  const auto lacks_file = [&](const Operation& operation) {
    return operation.traits.unread && base.opened->dump.sites[operation.site].native != 0;
  };
  if (std::ranges::none_of(operations.all, lacks_file)) return;
  for (Operation& operation : operations.all) operation.traits = {.unread = true};
}

}  // namespace

// One after the other: what is made in one call of an operation without anything from elsewhere in between is of one.
// At its first site again it is called again.
Operations operations_of(const Replay& replay, const Sample& base) {
  Operations found;
  found.of_replay_block.assign(replay.blocks.size(), kNone);
  std::vector<uint32_t> of_block(base.blocks.size(), kNone);
  std::unordered_map<uint32_t, SiteOperation> known;
  bool further = false;                        // the running one has come to another of its sites
  uint32_t forward = kNone, backward = kNone;  // which runs
  for (size_t i = 0; i < replay.changes.size(); ++i) {
    const auto [replay_block, made] = replay.changes[i];
    const uint32_t block = replay.blocks[replay_block].block;
    if (made && block != kNone) {
      const Block& of = base.blocks[block];
      if (of.backward) {
        forward = kNone;
        backward = of.forward_block == kNone ? kNone : of_block[of.forward_block];
        found.of_replay_block[replay_block] = backward;
        if (backward != kNone && found.all[backward].backward_begin == SIZE_MAX) found.all[backward].backward_begin = i;
      } else {
        backward = kNone;
        if (of.optimizer) {
          forward = kNone;
        } else if (found.of_replay_block[replay_block] != kNone) {
          forward = kNone;  // computed again
        } else {
          const auto [site, fresh] = known.try_emplace(of.site);
          if (fresh) site->second = operation_at(of.site, base);
          const bool first = forward != kNone && found.all[forward].site == of.site;
          const bool goes_on =
              first ? !further : forward != kNone && known.at(found.all[forward].site).call == site->second.call;
          further = goes_on && !first;
          if (!goes_on) {
            forward = uint32_t(found.all.size());
            found.all.push_back({of.site, site->second.traits, {}, i});
          }
          found.all[forward].blocks.push_back(replay_block);
          found.of_replay_block[replay_block] = of_block[block] = forward;
        }
      }
    }
    if (forward != kNone) found.all[forward].end = i + 1;
    if (backward != kNone) found.all[backward].backward_end = i + 1;
  }
  forget_if_unread(found, base);
  return found;
}

}  // namespace tensorscope::analyzer::forecast
