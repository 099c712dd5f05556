// SPDX-License-Identifier: Apache-2.0
// What an answer prints in place of a module's path where a tensor or a block has none. Whether that means that it is
// in no nn.Module depends on how much of the program's modules this dump knows.
#pragma once

#include "dump/dump.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

// The key of that group. It is the same in every dump, so that dumps that know more and less of modules can be
// compared.
inline constexpr const char* kNoModule = "(in no module)";

// Returns how much of the program's modules the dump says it knows. A dump that says nothing knows none.
format::Seen modules_seen(const Dump& dump);

// Returns "(in no module)" if all modules are known, "(in no known module)" if some are, else "(module not known)".
const char* no_module(const Dump& dump);

}  // namespace tensorscope::analyzer
