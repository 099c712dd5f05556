// SPDX-License-Identifier: Apache-2.0
// The chunk of what the process's memory is: Python's own heap, what is mapped, and who holds
// shared memory.
//
// Context: collector.
#pragma once

#include "dump/dump_file.h"
#include "dump/mappings.h"
#include "dump/shared_files.h"
#include "python/bridge.h"

namespace tensorscope::dump {

bool write_process_memory(const python::PythonHeap& heap, const Mappings& mappings, const SharedFiles& shared,
                          DumpFile& file);

}  // namespace tensorscope::dump
