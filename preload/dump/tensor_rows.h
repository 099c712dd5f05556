// SPDX-License-Identifier: Apache-2.0
// The TENS and NODE chunks: the rows of the copied tables, joined with what live tensors and nodes say of themselves.
//
// Context: collector.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/chunk_sink.h"
#include "dump/string_table.h"
#include "dump/tensor_facts.h"
#include "live/snapshot_view.h"
#include "python/references.h"
#include "torch/metadata/metadata.h"

namespace tensorscope::dump {

// Lets live tensors vote about the layout where the reader has none yet.
void learn_layout(const live::SnapshotView& view, torch::MetadataReader& reader);

// What later work wants of the tensors.
struct KeptOfTensors {
  std::vector<uint64_t>& grad_fns;  // their autograd nodes
  python::TensorSizes* sizes;       // where not null: of storages that are known, as far as there is memory
  TensorFactRows* facts = nullptr;  // where not null: a summary of each row
};

// `reader` null: torch's tensors are not to be looked at, the rows hold what the tables know.
bool write_tensors(const live::SnapshotView& view, torch::MetadataReader* reader, StringTable& strings, ChunkSink& file,
                   const KeptOfTensors& kept);

bool write_nodes(const live::SnapshotView& view, torch::MetadataReader* reader, StringTable& strings, ChunkSink& file);

}  // namespace tensorscope::dump
