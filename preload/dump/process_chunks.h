// SPDX-License-Identifier: Apache-2.0
// The chunks of a dump that describe the process and the dump itself: PROC, TOTL, STEP, COVR, NAME, END!.
//
// Context: collector. Each function appends to `file` and returns false where that fails.
#pragma once

#include "dump/child_processes.h"
#include "dump/chunk.h"
#include "dump/dump_file.h"
#include "dump/failure.h"
#include "dump/reason.h"
#include "live/snapshot_view.h"
#include "python/bridge.h"

namespace tensorscope::dump {

struct DumpFacts {
  Reason reason = Reason::signal;
  const char* detail = "";
  uint32_t number = 1;
  uint64_t requested_ns = 0;
  const Failure* failure = nullptr;
  std::string torch_version;
  SiteId site = 0;                // of the call that asked for the dump: its place is the detail then
  int64_t step = -1;              // of the program; -1: not counted
  const char* asked_by_run = "";  // of the ancestor whose dump this one goes with
  uint32_t asked_by_dump = 0;     // that dump's number
  ChildProcesses children = {};
};

// The table of a PROC chunk. `place`: of the call that asked, "" for none.
struct SerialRange {
  Serial newest = 0, fork = 0;
};
flatbuffers::Offset<format::Process> process_table(const DumpFacts& facts, const char* place, uint64_t taken_ns,
                                                   const SerialRange& serials, Chunk& chunk);

bool write_process(const DumpFacts& facts, const live::SnapshotView& view, DumpFile& file);
bool write_totals(const DumpFacts& facts, const live::SnapshotView& view, ChunkSink& file);
bool write_steps(const live::SnapshotView& view, ChunkSink& file);
// `left_out`: what this dump is without, and why; "": nothing.
bool write_coverage(ChunkSink& file, const char* left_out = "");
bool write_names(const python::Names& names, DumpFile& file);
bool write_end(DumpFile& file);

}  // namespace tensorscope::dump
