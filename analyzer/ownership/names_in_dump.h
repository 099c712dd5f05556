// SPDX-License-Identifier: Apache-2.0
// What one dump says of the tensors and the memory of its run.
#pragma once

#include "dump/dump.h"
#include "ownership/holders.h"
#include "ownership/names_of_run.h"

namespace tensorscope::analyzer {

void add_names(const Dump& dump, const Holders& holders, NamesOfRun& names);

}  // namespace tensorscope::analyzer
