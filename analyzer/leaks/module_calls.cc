// SPDX-License-Identifier: Apache-2.0
#include "leaks/module_calls.h"

namespace tensorscope::analyzer {

bool local_of_module_call(const Dump& dump, const Reference& row, uint32_t tensor) {
  if (format::ReferenceRoot(row.root) != format::ReferenceRoot::local) return false;
  bool inside = false;
  for (uint32_t id = dump.sites[dump.tensors[tensor].site].python; id != 0; id = dump.python_frames[id].parent) {
    const PythonFrame& frame = dump.python_frames[id];
    inside = inside || dump.codes[frame.code].function == row.scope;
    if (inside && frame.module_object != 0) return true;
    if (frame.parent >= id) return false;
  }
  return false;
}

}  // namespace tensorscope::analyzer
