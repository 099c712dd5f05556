// SPDX-License-Identifier: Apache-2.0
// Reads a dump file that may be cut off, damaged, of a newer version, or no dump at all.
#pragma once

#include <string>

#include "dump/byte_source.h"
#include "dump/dump.h"
#include "support/error.h"

namespace tensorscope::analyzer {

// Reads everything up to the last sound chunk. Damage after a usable beginning (the PROC chunk) ends up in
// Dump::problems and leaves Dump::complete false: commands show what there is, repeat the problem on standard error and
// end with status 2. Throws BadInput where nothing can be shown: no such file, empty, not a dump, a newer major
// version, no sound PROC chunk. Memory: bounded by a small multiple of the file's size.
Dump read_dump(const std::string& path);

// Only which process the dump is of, from the chunk that every dump begins with; the rest of the file is not read.
// Throws BadInput where that chunk is missing or damaged.
Process read_process(const std::string& path);
Process read_process(const ByteSource& source, const std::string& name);

// The same as read_dump on bytes in memory: for the fuzzer and tests.
Dump read_dump_bytes(const void* data, size_t size, const std::string& name);

}  // namespace tensorscope::analyzer
