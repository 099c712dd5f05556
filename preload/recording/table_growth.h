// SPDX-License-Identifier: Apache-2.0
// The tables that events refer to, written as they grow: strings, code, stacks, sites, threads, shared objects.
//
// Context: collector. It allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dump/chunk_sink.h"
#include "dump/string_table.h"
#include "torch/metadata/shared_object_map.h"

namespace tensorscope::recording {

class TableGrowth {
 public:
  // What is new since the last call. False: it could not be written.
  bool write(dump::ChunkSink& file);
  bool write_strings(dump::ChunkSink& file);
  // What was written before, once more.
  bool write_again(dump::ChunkSink& file);
  // Where they are others than the ones written last.
  bool write_objects(const torch::SharedObjectMap& objects, dump::ChunkSink& file);

  dump::StringTable& strings() { return strings_; }

 private:
  struct Rows {
    size_t strings = 0, codes = 0, native = 0, python = 0, sites = 0, threads = 0;
  };
  bool write_up_to(const Rows& end, dump::ChunkSink& file);
  bool write_codes(size_t end, dump::ChunkSink& file);
  bool write_frames(size_t native_end, size_t python_end, dump::ChunkSink& file);
  bool write_sites(size_t end, dump::ChunkSink& file);
  bool write_threads(size_t end, dump::ChunkSink& file);
  bool write_strings_up_to(size_t end, dump::ChunkSink& file);

  dump::StringTable strings_;
  Rows written_;
  uint64_t objects_ = 0;  // a sum over those written last
};

}  // namespace tensorscope::recording
