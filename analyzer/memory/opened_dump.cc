// SPDX-License-Identifier: Apache-2.0
#include "memory/opened_dump.h"

#include <utility>

#include "recording/moment.h"

namespace tensorscope::analyzer {

OpenedDump::OpenedDump(const std::string& path, const SymbolOptions& options)
    : OpenedDump(read_dump_or_moment(path), options) {}

OpenedDump::OpenedDump(Dump read, const SymbolOptions& options)
    : names_of_run(names_for_moment(read, options)),
      dump(std::move(read)),
      symbols(dump, options),
      places(dump, symbols),
      accounts(dump),
      holders(dump, &symbols, names_of_run.get()) {}

analyzer::Selection OpenedDump::select(const Filter& filter) {
  if (filter.empty()) return choose(filter);
  const Selection everything(dump, accounts, holders, places, {});
  check_values(filter, {view(everything)});
  return choose(filter);
}

NoMatch OpenedDump::why_nothing(const Selection& selection, const Filter& filter) {
  return tensorscope::analyzer::why_nothing(filter, {view(selection)});
}

uint32_t OpenedDump::tensor_at(uint64_t address) const {
  if (by_address_.empty()) {
    for (uint32_t i = 0; i < dump.tensors.size(); ++i) by_address_.try_emplace(dump.tensors[i].address, i);
  }
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? kNone : found->second;
}

}  // namespace tensorscope::analyzer
