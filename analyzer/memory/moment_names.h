// SPDX-License-Identifier: Apache-2.0
// Names, categories and holders for a moment of a recording: from dumps that the same process wrote.
#pragma once

#include <memory>

#include "dump/dump.h"
#include "ownership/names_of_run.h"
#include "symbols/symbols.h"

namespace tensorscope::analyzer {

// Fills in what Python held (`references`, names of modules), and returns what the dumps say of tensors and memory;
// null where `moment` is none, or no dump was found. Dumps are those that the options name, else those beside the
// recording that are nearest in time. Throws BadInput where a named one is of another run.
std::unique_ptr<NamesOfRun> names_for_moment(Dump& moment, const SymbolOptions& options);

}  // namespace tensorscope::analyzer
