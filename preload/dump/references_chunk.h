// SPDX-License-Identifier: Apache-2.0
// The REFS chunk: who refers to each tensor in Python, as phase 2 found it.
//
// Context: collector. Appends to `file` and returns false where that fails.
#pragma once

#include "dump/dump_file.h"
#include "python/references.h"

namespace tensorscope::dump {

bool write_references(const python::References& references, DumpFile& file);

}  // namespace tensorscope::dump
