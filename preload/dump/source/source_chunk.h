// SPDX-License-Identifier: Apache-2.0
// SRCS, the chunk with the source lines that the dump's Python stacks need, so that whoever reads the dump needs no
// file of this machine. Files are read after phase 1, without holding up any thread, in parallel with the rest of the
// dump.
//
// Context: collector.
#pragma once

#include <vector>

#include "devices/cupti/session.h"
#include "dump/dump_file.h"
#include "dump/source/source_reader.h"
#include "live/snapshot_view.h"

namespace tensorscope::dump {

class SourceLines {
 public:
  // Once. Does nothing where TENSORSCOPE_SOURCE is off. `failed_at` is the site of a failure, 0: none.
  void start(const live::SnapshotView& view, SiteId failed_at, const cupti::Activity& cupti);
  // The same for what is in the view and for these sites.
  void start(const live::SnapshotView& view, const std::vector<SiteId>& sites);
  // Waits for the lines, SourceReader::kPatienceMs after start() at most, appends the chunk and records the coverage.
  // False: the file could not be written. Too little memory costs the chunk alone.
  bool write(ChunkSink& file);

 private:
  bool append(ChunkSink& file);
  const char* why_not_all() const;

  WantedLines wanted_;
  SourceReader reader_;
  uint64_t newest_unix_ns_ = 0;
  bool started_ = false;
};

}  // namespace tensorscope::dump
