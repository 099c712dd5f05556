// SPDX-License-Identifier: Apache-2.0
// Which function a call instruction has called: read from the instruction before the address that the function returns
// to. x86-64; other machines: not known.
//
// Functions of libc end in a jump to a local one, which has no name in a stripped libc (sem_clockwait does): then the
// stack does not say through which function a thread has entered libc, but the call does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tensorscope::process {

// Copies so many bytes from an address. Returns false if they cannot be read.
using ReadMemory = std::function<bool(uint64_t address, void* bytes, size_t size)>;

// Address of the function that was called directly, or through the table of another object's functions (PLT, GOT).
// Returns 0 if the call went through a register, or if there is no call.
uint64_t called_function(uint64_t return_address, const ReadMemory& read);

}  // namespace tensorscope::process
