// SPDX-License-Identifier: Apache-2.0
// Memory of another process that this one may trace; the process goes on meanwhile.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace tensorscope::process {

// Returns how many bytes were copied; less than `size` where the memory ends.
size_t read_memory(pid_t process, uint64_t address, void* bytes, size_t size);

// Returns false if not all bytes were written.
bool write_memory(pid_t process, uint64_t address, const void* bytes, size_t size);

}  // namespace tensorscope::process
