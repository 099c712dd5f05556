// The REFS chunk: who refers to each tensor in Python, as phase 2 found it.
//
// Context: collector. Appends to `file` and returns false where that fails.
#pragma once

#include "python/references.h"
#include "snapshot/dump_file.h"

namespace tensorscope::snapshot {

bool write_references(const python::References& references, DumpFile& file);

}  // namespace tensorscope::snapshot
