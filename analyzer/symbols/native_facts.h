// SPDX-License-Identifier: Apache-2.0
// What native stacks tell about what was made there where no Python stack does: a C++ program, or a thread of torch's.
// Functions are named when they are first asked for.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dump/dump.h"
#include "symbols/symbols.h"

namespace tensorscope::analyzer {

class NativeFacts {
 public:
  // `symbols`: null where functions are not to be named; nothing is known then.
  NativeFacts(const Dump& dump, Symbols* symbols) : dump_(dump), symbols_(symbols) {}

  // torch::optim, torch::nn (and there a module that is being made), torch::data or c10d made it itself: nothing but
  // torch's code is between. Bits of code::TorchPart.
  uint8_t parts(uint32_t site) const;
  // Whether what was made at `site` was made by the operation that attached its autograd node at `node_site`: both
  // stacks run in the same call of it.
  bool made_by_operation(uint32_t site, uint32_t node_site) const;

 private:
  const Dump& dump_;
  Symbols* symbols_;
  mutable std::unordered_map<uint32_t, uint8_t> known_;  // by native leaf
};

}  // namespace tensorscope::analyzer
