// SPDX-License-Identifier: Apache-2.0
// Which functions of PyTorch's Python package run autograd's engine: what is called below one of them belongs to a
// backward pass.
//
// Context: any. No allocation, no state.
#pragma once

#include <string_view>

namespace tensorscope::code {

// `function` may be qualified. torch/autograd/__init__.py (1.13 to 2.15), graph.py (from 2.2 on).
inline bool runs_engine(std::string_view file, std::string_view function) {
  if (file.ends_with("/torch/autograd/graph.py")) return function.ends_with("_engine_run_backward");
  return file.ends_with("/torch/autograd/__init__.py") && (function == "backward" || function == "grad");
}

}  // namespace tensorscope::code
