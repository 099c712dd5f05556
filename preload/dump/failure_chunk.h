// SPDX-License-Identifier: Apache-2.0
// The FAIL chunk: what failed, in a dump of reason out_of_memory or low_memory.
//
// Context: collector. Appends to `file` and returns false where that fails.
#pragma once

#include "dump/dump_file.h"
#include "dump/failure.h"

namespace tensorscope::dump {

bool write_failure_chunk(const Failure& failure, DumpFile& file);

}  // namespace tensorscope::dump
