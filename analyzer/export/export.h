// SPDX-License-Identifier: Apache-2.0
// A dump for other programs: JSON (docs/json.md, stable), CSV (one row a tensor), folded stacks (one line a place, as
// flame graph tools read them) and a snapshot for PyTorch's memory viewer. All stream: memory grows with the number of
// places, not of tensors.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "ownership/holders.h"
#include "symbols/symbols.h"

namespace tensorscope::exports {

struct ExportOptions {
  bool full_stacks = false;                    // keep the interpreter's own functions
  bool stacks_in_tensors = true;               // JSON: each tensor holds its frames; else the id of its stack
  std::vector<std::string> categories;         // parallel to Dump::tensors; empty: "unknown"
  const analyzer::Holders* holders = nullptr;  // names and holders; null: none
};

void export_json(const analyzer::Dump& dump, analyzer::Symbols& symbols, std::ostream& out,
                 const ExportOptions& options = {});
void export_csv(const analyzer::Dump& dump, analyzer::Symbols& symbols, std::ostream& out,
                const ExportOptions& options = {});
// Outermost frame first, frames separated by ';', then the live bytes of the place.
void export_folded(const analyzer::Dump& dump, analyzer::Symbols& symbols, std::ostream& out,
                   const ExportOptions& options = {});
// A sample for each site, with its stack, live bytes and live blocks: for speedscope, and for pprof (profile.proto,
// compressed by gzip).
void export_speedscope(const analyzer::Dump& dump, analyzer::Symbols& symbols, std::ostream& out,
                       const ExportOptions& options = {});
void export_pprof(const analyzer::Dump& dump, analyzer::Symbols& symbols, std::ostream& out,
                  const ExportOptions& options = {});
// A pickle in the form of torch.cuda.memory._snapshot(), for PyTorch's memory viewer and torch.cuda._memory_viz
// (docs/memory-viz.md).
void export_memory_viz(const analyzer::Dump& dump, analyzer::Symbols& symbols, std::ostream& out,
                       const ExportOptions& options = {});

}  // namespace tensorscope::exports
