// SPDX-License-Identifier: Apache-2.0
#include "tables/views.h"

namespace tensorscope::tables {

namespace {

constexpr View kViews[] = {
    {"by_category", "Live memory by category, as `report` has it.",
     "SELECT dump, device, category, count(storage) AS storages, sum(bytes) AS bytes FROM memory "
     "GROUP BY dump, device, category"},
    {"by_site", "Live memory by call stack.",
     "SELECT dump, site, place, count(storage) AS storages, sum(bytes) AS bytes FROM memory "
     "GROUP BY dump, site, place"},
    {"by_place", "Live memory by source line, as `report` has it.",
     "SELECT dump, place, count(storage) AS storages, sum(bytes) AS bytes FROM memory GROUP BY dump, place"},
    {"by_module", "Live memory by nn.Module and category.",
     "SELECT dump, module, category, count(storage) AS storages, sum(bytes) AS bytes FROM memory "
     "GROUP BY dump, module, category"},
    {"by_holder", "Live memory by what keeps it alive.",
     "SELECT dump, holder, count(storage) AS storages, sum(bytes) AS bytes FROM memory GROUP BY dump, holder"},
    {"by_dtype", "Live memory by dtype.",
     "SELECT memory.dump, tensors.dtype, count(memory.storage) AS storages, sum(memory.bytes) AS bytes FROM memory "
     "LEFT JOIN tensors ON tensors.dump = memory.dump AND tensors.tensor = memory.tensor "
     "GROUP BY memory.dump, tensors.dtype"},
    {"growth_by_place", "Live memory by source line: each dump and the one before it.",
     "SELECT dumps.dump, memory.place, "
     "sum(CASE WHEN memory.dump < dumps.dump THEN memory.bytes ELSE 0 END) AS bytes_before, "
     "sum(CASE WHEN memory.dump = dumps.dump THEN memory.bytes ELSE 0 END) AS bytes, "
     "sum(CASE WHEN memory.dump = dumps.dump THEN memory.bytes ELSE -memory.bytes END) AS growth_bytes "
     "FROM dumps JOIN memory ON memory.dump IN (dumps.dump - 1, dumps.dump) WHERE dumps.dump > 1 "
     "GROUP BY dumps.dump, memory.place"},
    {"growth_by_category", "The same by category.",
     "SELECT dumps.dump, memory.category, "
     "sum(CASE WHEN memory.dump < dumps.dump THEN memory.bytes ELSE 0 END) AS bytes_before, "
     "sum(CASE WHEN memory.dump = dumps.dump THEN memory.bytes ELSE 0 END) AS bytes, "
     "sum(CASE WHEN memory.dump = dumps.dump THEN memory.bytes ELSE -memory.bytes END) AS growth_bytes "
     "FROM dumps JOIN memory ON memory.dump IN (dumps.dump - 1, dumps.dump) WHERE dumps.dump > 1 "
     "GROUP BY dumps.dump, memory.category"},
    {"saved_by_node", "What the autograd graph saved, by class of the node.",
     "SELECT saved.dump, nodes.class, saved.slot, count(DISTINCT saved.tensor) AS tensors, "
     "sum(tensors.own_bytes) AS bytes FROM saved "
     "JOIN nodes ON nodes.dump = saved.dump AND nodes.node = saved.node "
     "JOIN tensors ON tensors.dump = saved.dump AND tensors.tensor = saved.tensor "
     "GROUP BY saved.dump, nodes.class, saved.slot"},
};

}  // namespace

std::span<const View> all_views() { return kViews; }

}  // namespace tensorscope::tables
