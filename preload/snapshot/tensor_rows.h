// The TENS and NODE chunks: the rows of the copied tables, joined with what live tensors and nodes say of themselves.
//
// Context: collector.
#pragma once

#include <cstdint>
#include <vector>

#include "live/snapshot_view.h"
#include "snapshot/dump_file.h"
#include "snapshot/metadata/metadata.h"
#include "snapshot/string_table.h"
#include "snapshot/tensor_facts.h"

namespace tensorscope::snapshot {

// Lets live tensors vote about the layout where the reader has none yet.
void learn_layout(const live::SnapshotView& view, MetadataReader& reader);

// `reader` null: torch's tensors are not to be looked at, the rows hold what the tables know. `grad_fns` receives the
// autograd nodes of the tensors, `facts`, where not null, a summary of each row.
bool write_tensors(const live::SnapshotView& view, MetadataReader* reader, StringTable& strings, DumpFile& file,
                   std::vector<uint64_t>& grad_fns, TensorFactRows* facts = nullptr);

bool write_nodes(const live::SnapshotView& view, MetadataReader* reader, StringTable& strings, DumpFile& file);

}  // namespace tensorscope::snapshot
