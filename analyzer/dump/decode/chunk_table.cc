// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/chunk_table.h"

#include <algorithm>
#include <iterator>

#include "dump/chunk_root.h"
#include "dump/decode/allocations.h"
#include "dump/decode/cupti.h"
#include "dump/decode/devices.h"
#include "dump/decode/failure_row.h"
#include "dump/decode/file_parts.h"
#include "dump/decode/graph_rows.h"
#include "dump/decode/history.h"
#include "dump/decode/process.h"
#include "dump/decode/process_memory.h"
#include "dump/decode/reference_rows.h"
#include "dump/decode/runtime_blocks.h"
#include "dump/decode/source_lines.h"
#include "dump/decode/stacks.h"
#include "dump/decode/tensors.h"
#include "dump_generated.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {

namespace {

enum class Number : uint8_t { one, several };

struct ChunkDecoder {
  uint32_t type;
  Number number;  // how many of them a file may have
  void (*decode)(const ChunkView& chunk, Decoding& state);
};

template <typename Root>
void verify_and_decode(const ChunkView& chunk, Decoding& state, void (*decode)(const Root&, Decoding&)) {
  const Root* root = chunk_root<Root>(chunk);
  if (!root) {
    state.dump.problems.push_back(malformed_chunk(chunk, state.name));
    return;
  }
  state.seen.insert(chunk.type);
  decode(*root, state);
}

// The function for the table: `decode`, called with the root table that it takes.
template <auto decode>
void verified(const ChunkView& chunk, Decoding& state) {
  verify_and_decode(chunk, state, decode);
}

constexpr ChunkDecoder kDecoders[] = {
    {format::kProcess, Number::one, verified<decode_process>},
    {format::kStrings, Number::one, verified<decode_strings>},
    {format::kSharedObjects, Number::one, verified<decode_shared_objects>},
    {format::kCodes, Number::one, verified<decode_codes>},
    {format::kNativeFrames, Number::several, verified<decode_native_frames>},
    {format::kPythonFrames, Number::several, verified<decode_python_frames>},
    {format::kSites, Number::several, verified<decode_sites>},
    {format::kThreads, Number::one, verified<decode_threads>},
    {format::kTensors, Number::several, verified<decode_tensors>},
    {format::kAllocations, Number::several, verified<decode_allocations>},
    {format::kNodes, Number::several, verified<decode_nodes>},
    {format::kGraph, Number::several, verified<decode_graph>},
    {format::kTotals, Number::one, verified<decode_totals>},
    {format::kSteps, Number::one, verified<decode_steps>},
    {format::kHistory, Number::one, verified<decode_history>},
    {format::kPeak, Number::one, verified<decode_peak>},
    {format::kCoverage, Number::one, verified<decode_coverage>},
    {format::kNames, Number::one, verified<decode_names>},
    {format::kReferences, Number::one, verified<decode_references>},
    {format::kFailure, Number::one, verified<decode_failure>},
    {format::kDeviceMemory, Number::several, verified<decode_device_memory>},
    {format::kRuntimeBlocks, Number::several, verified<decode_runtime_blocks>},
    {format::kDriverMemory, Number::several, verified<decode_driver_memory>},
    {format::kLaunches, Number::several, verified<decode_launches>},
    {format::kSourceLines, Number::one, verified<decode_source_lines>},
    {format::kProcessMemory, Number::one, verified<decode_process_memory>},
    {format::kProcessGroups, Number::one, verified<decode_process_groups>},
    {format::kEnd, Number::several, verified<decode_end>},
};

const ChunkDecoder* decoder_of(uint32_t type) {
  const auto* found = std::find_if(std::begin(kDecoders), std::end(kDecoders),
                                   [type](const ChunkDecoder& decoder) { return decoder.type == type; });
  return found == std::end(kDecoders) ? nullptr : found;
}

}  // namespace

bool is_decoded(uint32_t type) { return decoder_of(type) != nullptr; }

void decode_chunk(const ChunkView& chunk, Decoding& state) {
  const ChunkDecoder* decoder = decoder_of(chunk.type);
  if (!decoder) return;
  if (decoder->number == Number::one && state.seen.count(chunk.type) != 0) {
    state.dump.problems.push_back("a second '" + chunk_name(chunk.type) + "' chunk at byte " +
                                  with_commas(chunk.offset) + " of " + state.name + " was ignored.");
    return;
  }
  state.chunk = &chunk;
  decoder->decode(chunk, state);
  state.chunk = nullptr;
}

}  // namespace tensorscope::analyzer
