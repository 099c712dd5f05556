// SPDX-License-Identifier: Apache-2.0
// Takes the payloads of sound chunks in any order, and turns their rows into a Dump whose every index is in range.
// decode/chunk_table.cc says which function decodes which chunk.
#pragma once

#include <string>
#include <utility>

#include "dump/chunk_reader.h"
#include "dump/decode/decoding.h"
#include "dump/dump.h"

namespace tensorscope::analyzer {

class DumpDecoder {
 public:
  DumpDecoder(Dump& dump, std::string name) : state_(dump, std::move(name)) {}

  void add(const ChunkView& chunk);

  bool has_process() const;
  // True once an end chunk came that agrees with what was counted.
  bool end_agrees() const { return state_.end_agrees; }

  // Resolves all references, sorts, and builds the storages. Call once, after the last chunk.
  void finish();

  // The parts that every dump has and this one has not: "sites, tensors".
  std::string missing() const;
  // What finish() and the chunks left out because it cannot be: "3 references to missing sites".
  std::string cleared() const;

 private:
  void give_back_room();
  Decoding state_;
};

}  // namespace tensorscope::analyzer
