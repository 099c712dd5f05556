// SPDX-License-Identifier: Apache-2.0
// Words about one tensor that list and show share.
#pragma once

#include <string>

#include "memory/opened_dump.h"

namespace tensorscope::text {

// "12m" before the dump, "?" where the time is not known.
std::string age_text(const analyzer::Dump& dump, uint64_t created_ns);

// "saved activation"; "" where it is not known.
std::string category_text(const analyzer::OpenedDump& opened, uint32_t tensor);

// "grad", "leaf", "view", ... the few words that tell tensors of one shape apart.
std::string traits(const analyzer::OpenedDump& opened, uint32_t tensor);

// "3 tensors that could not be read", "2 tensors that were freed while the dump was written", or both: why memory of
// tensors is not known; "" if that of all is.
std::string unknown_memory_phrase(const analyzer::UnknownMemory& unknown);

// Bytes of the selected items that a tensor owns: what the rows of a list add up to.
uint64_t tensor_bytes(const analyzer::OpenedDump& opened, const analyzer::Selection& selection);

}  // namespace tensorscope::text
