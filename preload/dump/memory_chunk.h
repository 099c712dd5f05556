// The chunk of what the process's memory is: Python's own heap, and what is mapped.
//
// Context: collector.
#pragma once

#include "dump/dump_file.h"
#include "dump/mappings.h"
#include "python/bridge.h"

namespace tensorscope::dump {

bool write_process_memory(const python::PythonHeap& heap, const Mappings& mappings, DumpFile& file);

}  // namespace tensorscope::dump
