// SPDX-License-Identifier: Apache-2.0
// The operations of a run's forward passes, in order: what each made, and when its backward ran.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "autograd/autocast_rules.h"
#include "forecast/replay.h"
#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

// How the type of what it makes follows from what it is given.
enum class OperationKind : uint8_t {
  like_input,  // one input of as many elements
  binary,      // two inputs, one of which may be broadcast
  joining,     // inputs that add up to it
  reshaping,   // of other shape than its input
  factory      // none: float32
};

// What an operation makes in the loop of a layer of nn.GRU, nn.LSTM or nn.RNN.
enum class RecurrentPart : uint8_t {
  none,
  gate,  // from products alone: their type
  state  // from a former state as well: its type
};

struct OperationTraits {
  CastRule rule = CastRule::follows;
  OperationKind kind = OperationKind::like_input;
  bool convolution = false, linear = false, dropout = false;
  bool enlarges = false;      // its result has more elements than its input
  bool pads = false;          // its input, with more around it
  bool pools = false;         // its result is smaller than its input in each dimension of places
  bool gathers = false;       // chosen elements of its input
  bool saves_result = false;  // for backward, and not what it was given
  bool norm = false;          // its statistics are float32
  bool mean = false;          // on a CPU it computes in float32, from a copy
  bool stream = false;        // what residual connections carry: a sum, a norm, an embedding
  bool in_place = false;      // what it makes is a copy for backward of what it changes
  bool in_layer = false;      // inside a layer of nn.GRU, nn.LSTM or nn.RNN
  RecurrentPart recurrent = RecurrentPart::none;
  bool initial_state = false;      // zeros that such a layer makes, of the type of its input
  bool in_attention_math = false;  // inside attention that is computed by its formula
  bool unread = false;             // which operation it is could not be read: the rest is not known
};
// `name`: as in native stacks, without its overload.
OperationTraits traits_of(std::string_view name, bool cpu);

struct Operation {
  uint32_t site = 0;
  OperationTraits traits;
  std::vector<uint32_t> blocks{};  // that it made, in order
  size_t begin = 0, end = 0;       // the changes in which it ran, the frees behind it included
  size_t backward_begin = SIZE_MAX, backward_end = SIZE_MAX;  // likewise; SIZE_MAX: not seen
};

struct Operations {
  std::vector<Operation> all;  // in the order of the forward pass
  std::vector<uint32_t>
      of_replay_block;  // index into `all`, of what is made in backward that of its forward operation; kNone
};
Operations operations_of(const Replay& replay, const Sample& base);

}  // namespace tensorscope::analyzer::forecast
