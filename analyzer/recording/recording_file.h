// SPDX-License-Identifier: Apache-2.0
// A recording: segments, each with what was alive when it began, and what happened afterwards, in order. The file may
// still grow, may be cut off, damaged or of a newer version.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dump/byte_source.h"
#include "dump/chunk_reader.h"
#include "dump_generated.h"
#include "recording_generated.h"
#include "tensorscope/event_stream.h"

namespace tensorscope::analyzer {

// Receives a recording's events, in the order of the program. Rows are checked for size, not for what they refer
// to.
class RecordingVisitor {
 public:
  virtual ~RecordingVisitor() = default;
  // What is alive begins anew; its objects follow.
  virtual void segment(const format::RecordingSegment&) {}
  virtual void live_allocation(const format::Allocation&) {}
  virtual void live_runtime_block(const format::RuntimeBlock&) {}
  // A tensor that is alive as the segment begins, and what it is; or, after events, what a living tensor is.
  virtual void tensor(const format::Tensor&, std::span<const int64_t> /*sizes_and_strides*/, bool begins_segment) {}
  // False: no more events are wanted; what tensors are still comes.
  virtual bool event(const format::RecordedEvent&) { return true; }
  // Every other chunk: process, strings, code, stacks, sites, threads, shared objects, coverage.
  // False: it is malformed.
  virtual bool table(const ChunkView&) { return true; }
};

struct RecordingEnds {
  bool ended = false;     // it has an end; else the program still runs or was killed
  std::string cut_short;  // why the end came before the program's: "write: No space left on device"; "": it did not
  uint64_t end_ns = 0;
  uint64_t events = 0;
  uint64_t late = 0;           // events that came after later ones had been passed on
  uint64_t damaged = 0;        // parts of events that could not be read
  std::string damaged_chunks;  // those they are in, as far as they fit into a sentence
  std::vector<std::string> problems;
};

class RecordingFile {
 public:
  // Throws BadInput: no such file, or no recording.
  explicit RecordingFile(const std::string& path);
  RecordingFile(std::unique_ptr<ByteSource> source, std::string name);

  // Goes through the whole file.
  RecordingEnds replay(RecordingVisitor& visitor) const;

  const std::string& name() const { return name_; }
  uint64_t bytes() const { return source_->size(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
};

// Whether the file at `path` begins as a recording does.
bool is_recording(const std::string& path);

}  // namespace tensorscope::analyzer
