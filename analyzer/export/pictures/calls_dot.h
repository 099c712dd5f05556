// SPDX-License-Identifier: Apache-2.0
// The calls of modules as a picture in Graphviz' language: an edge from each module to those below it.
#pragma once

#include <optional>
#include <string>

#include "values/call_tree.h"

namespace tensorscope::exports {

struct CallsPicture {
  std::string title;
  bool order = false;                   // edges have the call's one-based index among its caller's calls
  std::optional<double> width, height;  // inches; both: filled, whatever the picture's own ratio is
  unsigned dpi = 150;
};

std::string calls_dot(const values::CallTree& tree, const CallsPicture& picture);
std::string squashed_calls_dot(const values::SquashedCalls& calls, const CallsPicture& picture);

}  // namespace tensorscope::exports
