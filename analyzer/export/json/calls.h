// SPDX-License-Identifier: Apache-2.0
// The calls of modules as JSON (docs/cli/calls.md), and for viewers of Chrome's trace event format such as Perfetto.
#pragma once

#include <string>

#include "values/call_tree.h"

namespace tensorscope::exports {

struct CallsJson {
  std::string file;
  const values::CallTree* tree = nullptr;
  const values::SquashedCalls* squashed = nullptr;  // null: not asked for
  bool sequence = false;                            // each call by itself
};
std::string calls_json(const values::CallSequence& sequence, const CallsJson& what);

std::string chrome_trace(const values::CallSequence& sequence, const values::ValuesFile& file);

}  // namespace tensorscope::exports
