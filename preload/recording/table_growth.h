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
  // Where they are others than the ones written last.
  bool write_objects(const torch::SharedObjectMap& objects, dump::ChunkSink& file);

  dump::StringTable& strings() { return strings_; }

 private:
  bool write_codes(size_t count, dump::ChunkSink& file);
  bool write_frames(size_t native, size_t python, dump::ChunkSink& file);
  bool write_sites(size_t count, dump::ChunkSink& file);
  bool write_threads(dump::ChunkSink& file);

  dump::StringTable strings_;
  size_t strings_written_ = 0, codes_ = 0, native_ = 0, python_ = 0, sites_ = 0, threads_ = 0;
  uint64_t objects_ = 0;  // a sum over those written last
};

}  // namespace tensorscope::recording
