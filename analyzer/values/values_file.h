// SPDX-License-Identifier: Apache-2.0
// Reads a values file: what a program's tensors held over time, and the calls of its modules. The file may still grow,
// be cut off, damaged, or hold more than fits into memory: rows are read chunk by chunk when they are needed,
// elements value by value. Everything up to the first chunk that is damaged or not whole counts, nothing behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dump/byte_source.h"
#include "dump/dump.h"
#include "tensorscope/values_format.h"
#include "values/chunk_walk.h"
#include "values/decode.h"
#include "values/element_chunks.h"
#include "values/records.h"

namespace tensorscope::values {

class ValuesFile {
 public:
  // Throw analyzer::BadInput where nothing can be shown: no such file, not a values file, a newer major version, no
  // whole PROC chunk.
  explicit ValuesFile(const std::string& path);
  ValuesFile(std::unique_ptr<analyzer::ByteSource> source, const std::string& path);

  // Takes in the chunks that were appended since. True where there were any.
  bool read_more();

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }  // without its folders
  const analyzer::Process& process() const { return process_; }
  uint64_t unix_ns(uint64_t time_ns) const { return process_.dump_unix_ns + (time_ns - process_.dump_ns); }

  // The end chunk was there and agrees. Without it the program still runs or was killed.
  bool closed() const { return chunks_.closed(); }
  // Bytes of a last chunk that is not whole: the program is writing it, or was killed while it wrote.
  uint64_t torn_bytes() const { return chunks_.torn_bytes(); }
  // What is wrong with the file, one sentence each. Commands repeat them and end with status 2.
  std::vector<std::string> problems() const;

  const std::vector<Watch>& watches() const { return watches_; }
  bool find_nan() const { return find_nan_; }
  bool calls_recorded() const { return calls_recorded_; }
  uint64_t value_count() const { return values_; }
  uint64_t call_count() const { return calls_; }
  const std::vector<NonFinite>& findings() const { return findings_; }
  const std::vector<Loss>& losses() const { return losses_; }
  const std::vector<Unmatched>& unmatched() const { return unmatched_; }

  // Calls f for each value or call in the file's order until it returns false. One chunk at a time is in memory. Throws
  // analyzer::BadInput where the file was changed since it was opened.
  void for_each_value(const std::function<bool(const Value&)>& f) const;
  void for_each_call(const std::function<bool(const Call&)>& f) const;
  // The values with a serial larger than this, for what follows a file that grows.
  void for_each_value_after(uint64_t serial, const std::function<bool(const Value&)>& f) const;
  std::optional<Value> value(uint64_t serial) const;

  // Nothing where the file has none: statistics alone were watched. Throws analyzer::BadInput where they are damaged.
  std::optional<Elements> elements_of(const Value& value) const;

 private:
  struct ValueChunk {
    ChunkPlace place;
    uint64_t smallest = 0, largest = 0;   // serials
    size_t data_begin = 0, data_end = 0;  // its elements: indexes into elements_
    size_t strings = 0;                   // as many were known at this point of the file
  };
  struct CallChunk {
    ChunkPlace place;
    size_t strings = 0;
  };

  bool take(const ChunkPlace& place, const Payload& payload);
  bool take_process(const ChunkPlace& place, const Payload& payload);
  bool take_strings(const format::Strings& in, uint64_t length);
  void take_watches(const format::Watches& in);
  void take_values(const ChunkPlace& place, const format::ValueBatch& in);
  void take_calls(const ChunkPlace& place, const format::Calls& in);
  void take_losses(const format::Losses& in);
  void take_unmatched(const format::Unmatcheds& in);
  void take_end(const format::ValuesEnd& in);
  std::vector<std::string> chunk_problems() const;
  bool each_row(size_t chunk, const std::function<bool(const format::ValueRow&, const format::ValueBatch&)>& f) const;
  Value decoded(const format::ValueRow& row, const format::ValueBatch& batch, size_t chunk) const;

  std::string path_, name_;
  ChunkWalk chunks_;
  bool has_process_ = false, chunks_lost_ = false;
  uint64_t left_out_ = 0;  // rows
  analyzer::Process process_;
  Texts strings_;
  std::vector<Watch> watches_;
  bool find_nan_ = false, calls_recorded_ = false;
  std::vector<ValueChunk> value_chunks_;
  std::vector<CallChunk> call_chunks_;
  mutable ElementChunks elements_;
  size_t data_taken_ = 0;  // so many of elements_ belong to value_chunks_
  uint64_t values_ = 0, calls_ = 0;
  std::vector<NonFinite> findings_;
  std::vector<Loss> losses_;
  std::vector<Unmatched> unmatched_;
};

}  // namespace tensorscope::values
