// SPDX-License-Identifier: Apache-2.0
#include "ownership/names_in_dump.h"

namespace tensorscope::analyzer {

void add_names(const Dump& dump, const Holders& holders, NamesOfRun& names) {
  names.add_source({dump.path.substr(dump.path.rfind('/') + 1), dump.process.dump_ns});
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) {
    const bool looked_at = dump.references.present && dump.references.tensors[i].known;
    if (!looked_at && holders.category(i) == Category::unknown) continue;
    names.add_tensor(dump.tensors[i].serial, {holders.names(i), holders.holders(i), holders.holder_count(i),
                                              holders.category(i), holders.evidence(i), holders.module(i)});
  }
  for (const Allocation& allocation : dump.allocations) {
    Category strongest = allocation.storages.empty() ? Category::workspace : Category::unknown;
    for (uint32_t storage : allocation.storages) {
      const Category category = holders.category(holders.representative(storage));
      if (stronger(category, strongest)) strongest = category;
    }
    if (strongest != Category::unknown) names.add_memory(allocation, strongest);
  }
}

}  // namespace tensorscope::analyzer
