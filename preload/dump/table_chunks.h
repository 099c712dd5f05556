// SPDX-License-Identifier: Apache-2.0
// The chunks of a dump that hold tables but not tensors: allocations, sites, stacks, code, threads, modules, strings.
//
// Context: collector. Each function appends to `file` and returns false where that fails.
#pragma once

#include "dump/chunk_sink.h"
#include "dump/string_table.h"
#include "live/snapshot_view.h"
#include "tensorscope/dump_format.h"
#include "torch/metadata/shared_object_map.h"

namespace tensorscope::dump {

// Rows of a chunk: as few as a dump with little memory can put together, as many as make a chunk's head nothing.
inline constexpr size_t kTableRows = 8192;
static_assert(kTableRows <= format::kMaxRowsPerChunk);

bool write_allocations(const live::SnapshotView& view, ChunkSink& file);

// SITE, NATV and PYTH. Where a trie has more than `most_frames` frames, only those that sites with something alive, now
// or at the peak, need are written, under new ids; the other sites then have no stack.
bool write_stacks(const live::SnapshotView& view, ChunkSink& file, size_t most_frames = size_t{1} << 20);

bool write_codes(StringTable& strings, ChunkSink& file);
bool write_threads(const live::SnapshotView& view, StringTable& strings, ChunkSink& file);
bool write_shared_objects(const torch::SharedObjectMap& objects, ChunkSink& file);
bool write_strings(const StringTable& strings, ChunkSink& file);

}  // namespace tensorscope::dump
