// SPDX-License-Identifier: Apache-2.0
// A dump with everything that verbs read of it: names of its frames, its allocation sites, whose bytes they are, who
// holds them. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "dump/dump.h"
#include "memory/accounting.h"
#include "memory/filter_values.h"
#include "memory/grouping.h"
#include "memory/moment_names.h"
#include "memory/selection.h"
#include "ownership/category.h"
#include "ownership/holders.h"
#include "symbols/places.h"
#include "symbols/symbols.h"

namespace tensorscope::analyzer {

class OpenedDump {
 public:
  // Throws BadInput.
  OpenedDump(const std::string& path, const SymbolOptions& options);
  OpenedDump(Dump read, const SymbolOptions& options);
  OpenedDump(const OpenedDump&) = delete;
  OpenedDump& operator=(const OpenedDump&) = delete;

  // Throws BadFilter, also for a value that this dump cannot have.
  Selection select(const Filter& filter);
  // The same for one of several dumps, whose values were compared with what all of them have.
  Selection choose(const Filter& filter, const Selection* earlier = nullptr) {
    return Selection(dump, accounts, holders, places, filter, earlier);
  }
  // For an empty selection: which filter matches nothing, and what there is.
  NoMatch why_nothing(const Selection& selection, const Filter& filter);
  View view(const Selection& selection) { return {dump, accounts, holders, places, selection}; }

  // The tensor whose TensorImpl lies there; kNone: there is none.
  uint32_t tensor_at(uint64_t address) const;

  // Made in this order, each from those before it: finding names of a run also fills in what the dump lacks.
  const std::unique_ptr<NamesOfRun> names_of_run;  // of a moment of a recording, where there are dumps of it
  const Dump dump;
  Symbols symbols;
  Places places;
  const Accounts accounts;
  const Holders holders;

 private:
  mutable std::unordered_map<uint64_t, uint32_t> by_address_;  // filled on first use
};

}  // namespace tensorscope::analyzer
