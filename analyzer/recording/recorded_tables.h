// SPDX-License-Identifier: Apache-2.0
// The tables that a recording has as a dump has them: process, stacks, threads, texts, coverage. They are taken from
// its chunks, and put into the dump of a moment.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dump/chunk_root.h"
#include "recording/dump_bytes.h"

namespace tensorscope::analyzer {

class RecordedTables {
 public:
  // False: the chunk is malformed. One of another kind is left alone.
  bool take(const ChunkView& chunk);

  // The number of a text for rows of the dump; text 0 is empty.
  uint32_t add_string(const char* text);
  // Native and Python stack of each site.
  const std::vector<std::pair<uint32_t, uint32_t>>& stacks() const { return stacks_; }

  // Process, shared objects and source lines. The dump is one of this time.
  void add_process(DumpBytes& out, uint64_t ns);
  void add_frames_and_threads(DumpBytes& out) const;
  // As the process kept it, but for what only a dump has.
  void add_coverage(DumpBytes& out) const;
  void add_strings(DumpBytes& out) const;

 private:
  void set_time(uint64_t ns);
  template <typename Table>
  static bool keep(const ChunkView& chunk, std::string& payload) {
    if (chunk_root<Table>(chunk) == nullptr) return false;
    payload.assign(reinterpret_cast<const char*>(chunk.payload), chunk.length);
    return true;
  }
  template <typename Table>
  bool keep_frames(const ChunkView& chunk) {
    std::string payload;
    if (!keep<Table>(chunk, payload)) return false;
    frames_.emplace_back(chunk.type, std::move(payload));
    return true;
  }
  // Calls `take` for each of the table's values.
  template <typename Table, typename Take>
  static bool each(const ChunkView& chunk, Take take) {
    const Table* in = chunk_root<Table>(chunk);
    if (in == nullptr) return false;
    if (in->values()) {
      for (const auto* value : *in->values()) take(value);
    }
    return true;
  }

  std::string process_, objects_, source_lines_, coverage_;
  std::vector<std::string> strings_;
  std::vector<format::Code> codes_;
  std::vector<format::Thread> threads_;
  std::vector<std::pair<uint32_t, uint32_t>> stacks_;
  std::vector<std::pair<uint32_t, std::string>> frames_;
};

}  // namespace tensorscope::analyzer
