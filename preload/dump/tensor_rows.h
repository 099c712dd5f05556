// The TENS and NODE chunks: the rows of the copied tables, joined with what live tensors and nodes say of themselves.
//
// Context: collector.
#pragma once

#include <cstdint>
#include <vector>

#include "live/snapshot_view.h"
#include "python/references.h"
#include "snapshot/dump_file.h"
#include "snapshot/metadata/metadata.h"
#include "snapshot/string_table.h"
#include "snapshot/tensor_facts.h"

namespace tensorscope::snapshot {

// Lets live tensors vote about the layout where the reader has none yet.
void learn_layout(const live::SnapshotView& view, MetadataReader& reader);

// What later work wants of the tensors.
struct KeptOfTensors {
  std::vector<uint64_t>& grad_fns;  // their autograd nodes
  python::TensorSizes& sizes;       // of storages that are known, as far as there is memory
  TensorFactRows* facts = nullptr;  // where not null: a summary of each row
};

// `reader` null: torch's tensors are not to be looked at, the rows hold what the tables know.
bool write_tensors(const live::SnapshotView& view, MetadataReader* reader, StringTable& strings, DumpFile& file,
                   const KeptOfTensors& kept);

bool write_nodes(const live::SnapshotView& view, MetadataReader* reader, StringTable& strings, DumpFile& file);

}  // namespace tensorscope::snapshot
