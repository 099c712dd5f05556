// The FAIL chunk: what failed, in a dump of reason out_of_memory or low_memory.
//
// Context: collector. Appends to `file` and returns false where that fails.
#pragma once

#include "out_of_memory/failure.h"
#include "snapshot/dump_file.h"

namespace tensorscope::snapshot {

bool write_failure_chunk(const out_of_memory::Failure& failure, DumpFile& file);

}  // namespace tensorscope::snapshot
