// SPDX-License-Identifier: Apache-2.0
// What our Python sources call to read a file: the interpreter's open() would take a number of the program's descriptor
// table (support/private_descriptor_table.h).
//
// Context: called by Python, with the GIL.
#pragma once

#include "python/method.h"

namespace tensorscope::python {

// file_bytes(path): the file's bytes, or the number of the error (errno).
extern MethodDefinition g_file_bytes;

}  // namespace tensorscope::python
