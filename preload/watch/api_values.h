// SPDX-License-Identifier: Apache-2.0
// Values, notes and steps that the program itself records: libtensorscope.save(), annotate() and mark_step(), and the
// same of the C API (include/tensorscope/tensorscope.h). Recorded whether or not anything is watched.
//
// Context: as named.
#pragma once

namespace tensorscope::watch {

// The Python functions become part of the module `libtensorscope`. Context: before main.
void add_api_values_to_module();

}  // namespace tensorscope::watch
