// SPDX-License-Identifier: Apache-2.0
#include "dump/dump_decoder.h"

#include "dump/decode/allocations.h"
#include "dump/decode/chunk_table.h"
#include "dump/decode/cupti.h"
#include "dump/decode/devices.h"
#include "dump/decode/failure_row.h"
#include "dump/decode/graph_rows.h"
#include "dump/decode/history.h"
#include "dump/decode/reference_rows.h"
#include "dump/decode/runtime_blocks.h"
#include "dump/decode/stacks.h"
#include "dump/decode/tensors.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {

void DumpDecoder::add(const ChunkView& chunk) {
  state_.text_budget += 8 * chunk.length;
  decode_chunk(chunk, state_);
}

bool DumpDecoder::has_process() const { return state_.seen.count(format::kProcess) != 0; }

// In this order: each step needs what the steps before it have put in order.
void DumpDecoder::finish() {
  finish_codes_and_threads(state_);
  finish_stacks(state_);
  finish_peak(state_);
  finish_tensors(state_);
  finish_allocations_and_nodes(state_);
  finish_device_memory(state_);
  finish_runtime_blocks(state_);
  finish_failure(state_);
  finish_cupti(state_);
  build_storages(state_.dump, state_.tensors.claims);
  finish_graph(state_);
  finish_tensor_parts(state_);
  finish_references(state_);
  give_back_room();
}

// Rows came in parts, so that vectors have grown by doubling.
void DumpDecoder::give_back_room() {
  state_.dump.tensors.shrink_to_fit();
  state_.dump.allocations.shrink_to_fit();
  state_.dump.references.rows.shrink_to_fit();
}

std::string DumpDecoder::missing() const {
  // What every dump has; without it a reader cannot tell "none" from "not read".
  constexpr uint32_t kExpected[] = {format::kStrings,      format::kSharedObjects, format::kCodes,
                                    format::kNativeFrames, format::kPythonFrames,  format::kSites,
                                    format::kThreads,      format::kTensors,       format::kAllocations,
                                    format::kTotals,       format::kCoverage};
  std::string out;
  for (uint32_t type : kExpected) {
    if (!state_.seen.count(type)) out += (out.empty() ? "" : ", ") + chunk_name(type);
  }
  return out;
}

std::string DumpDecoder::cleared() const {
  std::string out;
  for (const auto& [what, times] : state_.left_out) out += (out.empty() ? "" : ", ") + with_commas(times) + " " + what;
  return out;
}

}  // namespace tensorscope::analyzer
