// SRCS, the chunk with the source lines that the dump's Python stacks need, so that whoever reads the dump needs no
// file of this machine. Files are read after phase 1, with nobody held up, beside the rest of the dump's work.
//
// Context: collector.
#pragma once

#include "cupti/session.h"
#include "live/snapshot_view.h"
#include "snapshot/dump_file.h"
#include "snapshot/source/source_reader.h"

namespace tensorscope::snapshot {

class SourceLines {
 public:
  // Once. Does nothing where TENSORSCOPE_SOURCE is off. `failed_at` is the site of a failure, 0: none.
  void start(const live::SnapshotView& view, SiteId failed_at, const cupti::Findings& cupti);
  // Waits for the lines, SourceReader::kPatienceMs after start() at most, appends the chunk and records the coverage.
  // False: the file could not be written. Too little memory costs the chunk alone.
  bool write(DumpFile& file);

 private:
  bool append(DumpFile& file);
  const char* why_not_all() const;

  WantedLines wanted_;
  SourceReader reader_;
  uint64_t newest_unix_ns_ = 0;
  bool started_ = false;
};

}  // namespace tensorscope::snapshot
