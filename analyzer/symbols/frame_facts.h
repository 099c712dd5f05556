// SPDX-License-Identifier: Apache-2.0
// What the Python stacks of a dump tell about whatever was made there, worked out once for every frame of the trie: the
// calls of nn.Modules around it, and whether torch's own data loading, optimizers or modules were at work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dump/dump.h"
#include "symbols/user_code.h"

namespace tensorscope::analyzer {

class FrameFacts {
 public:
  explicit FrameFacts(const Dump& dump);

  // The call of a named nn.Module that a site runs in: the frame of torch's call wrapper, 0 where none. Frames are
  // places, not moments: calls from one line are one call.
  uint32_t call(uint32_t site) const { return call_of_[dump_.sites[site].python]; }
  // The call around a call, 0 where it is the outermost.
  uint32_t outer_call(uint32_t call) const { return call_of_[dump_.python_frames[call].parent]; }
  const std::string& path(uint32_t call) const;                                // of the module, "" for call 0
  const std::string& module(uint32_t site) const { return path(call(site)); }  // the innermost
  uint32_t calls_left(uint32_t site, const std::string& function) const;       // see the .cc
  // Who made what was made there, as bits of code::TorchPart.
  uint8_t parts(uint32_t site) const { return facts_[dump_.sites[site].python]; }
  bool torch_function(uint32_t site, std::string_view function) const;  // the innermost frame is torch's, named so
  // In a call of autograd's engine.
  bool in_backward(uint32_t site) const { return in_backward_[dump_.sites[site].python] != 0; }
  // A module of torch.nn made it for itself: in its constructor, or when it was moved or converted.
  bool made_for_module(uint32_t site) const;
  // "train.py:57 train_step": the innermost frame of the program's own code, "" where there is none.
  std::string place(uint32_t site) const;

 private:
  const Dump& dump_;
  std::vector<uint32_t> call_of_, user_frame_;  // by Python frame
  std::vector<uint8_t> facts_, in_backward_;
  std::vector<uint8_t> is_torch_, is_nn_module_;  // by code: PyTorch's; in its torch/nn/modules
};

}  // namespace tensorscope::analyzer
