// SPDX-License-Identifier: Apache-2.0
#include "memory/no_module.h"

#include <algorithm>

namespace tensorscope::analyzer {

namespace {

using format::Seen;

// The modules that were alive have their names, but a stack may hold a call of one that was freed before the dump.
bool every_call_has_a_name(const Dump& dump) {
  return std::ranges::all_of(dump.python_frames, [&](const PythonFrame& frame) {
    return frame.module_object == 0 || dump.module_names.contains(frame.module_object);
  });
}

}  // namespace

Seen modules_seen(const Dump& dump) {
  const auto row = std::ranges::find(dump.coverage, "module paths", &Coverage::subject);
  return row == dump.coverage.end() ? Seen::no : Seen(row->seen);
}

const char* no_module(const Dump& dump) {
  switch (modules_seen(dump)) {
    case Seen::yes:
    case Seen::not_applicable:
      return every_call_has_a_name(dump) ? kNoModule : "(in no known module)";
    case Seen::partly:
      return "(in no known module)";
    default:
      return "(module not known)";
  }
}

}  // namespace tensorscope::analyzer
