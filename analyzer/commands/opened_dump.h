// A dump with everything that commands ask of it, and the options by which it is opened and filtered.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "commands/invocation.h"
#include "model/accounting.h"
#include "model/category.h"
#include "model/dump.h"
#include "model/grouping.h"
#include "model/holders.h"
#include "model/places.h"
#include "model/selection.h"
#include "model/symbols.h"

namespace CLI {
class Option;
}

namespace tensorscope::commands {

class OpenedDump {
 public:
  // Throws model::BadInput.
  OpenedDump(const std::string& path, const model::SymbolOptions& options);
  OpenedDump(model::Dump read, const model::SymbolOptions& options);
  OpenedDump(const OpenedDump&) = delete;
  OpenedDump& operator=(const OpenedDump&) = delete;

  // Throws BadFilter, also for a value that this dump cannot have.
  model::Selection select(const model::Filter& filter);
  // The same for one of several dumps, whose values were compared with what all of them have.
  model::Selection choose(const model::Filter& filter, const model::Selection* earlier = nullptr) {
    return model::Selection(dump, accounts, holders, places, filter, earlier);
  }
  // For an empty selection: which filter matches nothing, and what there is.
  std::string why_nothing(const model::Selection& selection, const model::Filter& filter);
  model::View view(const model::Selection& selection) { return {dump, accounts, holders, places, selection}; }

  // The tensor whose TensorImpl lies there; kNone: there is none.
  uint32_t tensor_at(uint64_t address) const;

  const model::Dump dump;
  model::Symbols symbols;
  model::Places places;
  const model::Accounts accounts;
  const model::Holders holders;

 private:
  mutable std::unordered_map<uint64_t, uint32_t> by_address_;  // once somebody asks
};

// What was wrong with the file, on standard error; kBadInput where anything was, else `status`.
int finish(Invocation& invocation, const model::Dump& dump, int status = kOk);

void add_symbol_options(CLI::App& verb, model::SymbolOptions& options);
void add_filters(CLI::App& verb, model::Filter& filter);
// --by, with `by` as the default.
void add_grouping(CLI::App& verb, model::By& by);
// --top, the number of rows, with `top` as the default.
void add_top(CLI::App& verb, size_t& top);
// --full-stacks
void add_full_stacks(CLI::App& verb, bool& full_stacks);
// Options that take a size ("10M"), a time ("90s").
CLI::Option* add_size(CLI::App& verb, const std::string& name, std::optional<uint64_t>& value, const std::string& help);
CLI::Option* add_time(CLI::App& verb, const std::string& name, std::optional<uint64_t>& ns, const std::string& help);

}  // namespace tensorscope::commands
