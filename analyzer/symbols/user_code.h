// SPDX-License-Identifier: Apache-2.0
// Whose code a frame is (tensorscope/rules/user_code.h), in the model's words.
#pragma once

#include <cstdlib>
#include <string>

#include "dump/dump.h"
#include "tensorscope/rules/user_code.h"

namespace tensorscope::analyzer {

using code::dispatched_overload;
using code::enclosing_function;
using code::in_torch;
using code::is_allocator;
using code::is_comprehension;
using code::is_eval_frame;
using code::is_interpreter;
using code::is_process_start;
using code::native_owner;
using code::Owner;
using code::python_owner;
using code::torch_parts;

// The folder of PyTorch's Python package in the process that was dumped; empty: it has none.
inline std::string torch_package(const Dump& dump) {
  for (const SharedObject& object : dump.shared_objects) {
    if (const std::string_view package = code::torch_package_of(object.path); !package.empty()) {
      return std::string(package);
    }
  }
  return {};
}

// Whether code objects have qualified names, "Trainer.step" and not "step": from CPython 3.11 on.
inline bool names_are_qualified(const Dump& dump) {
  const std::string& version = dump.process.python_version;
  return !version.starts_with("3.") || std::atoi(version.c_str() + 2) >= 11;
}

}  // namespace tensorscope::analyzer
