// SPDX-License-Identifier: Apache-2.0
// Where the recording goes: a file that grows, or with TENSORSCOPE_RECORD_LAST the last part of it.
//
// With a window there is a second file beside it, which begins later, with what is alive then, and gets every chunk,
// too. When it holds a whole window it takes the recording's name, and another is begun. So the recording is whole at
// any moment, nothing is copied, and it holds between one and two windows if the window is a time; if it is a size,
// between half of it and all. The second file's name ends in ".recording.next".
//
// Context: collector, or the thread that ends the program. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "dump/appended_file.h"
#include "support/options.h"

namespace tensorscope::recording {

class Window : public dump::ChunkSink {
 public:
  explicit Window(const RecordWindow& kept) : kept_(kept) {}

  bool begin(uint64_t now_ns);
  bool append(uint32_t type, const void* payload, size_t length) override;
  // To the recording alone, where it could be written no further.
  bool append_last(uint32_t type, const void* payload, size_t length) {
    return whole_ && whole_->file.append_last(type, payload, length);
  }
  void add_events(uint64_t count);

  // Whether the second file is to be begun. What it begins with is written to begin_next()'s sink, and to no other;
  // null: it could not be made.
  bool wants_next(uint64_t now_ns) const;
  dump::ChunkSink* begin_next(uint64_t now_ns);
  // It has what it begins with. False: that takes so much of the size asked for that nothing else would fit.
  bool next_has_begun();
  // Where the second file holds enough it becomes the recording.
  bool move(uint64_t now_ns);
  // No second file from here on.
  void end_next();

  bool exists() const { return whole_ != nullptr; }
  const char* path() const { return whole_ ? whole_->file.path() : ""; }
  uint64_t bytes() const { return whole_->file.bytes(); }
  uint32_t chunks() const { return whole_->file.chunks(); }
  uint64_t events() const { return whole_->events; }
  // Of the file that failed: errno, what failed, and its name ("" where it has none).
  struct Failure {
    int error;
    const char* what;
    const char* path;
  };
  Failure failure() const;

 private:
  struct Part {
    explicit Part(const dump::FileKind& kind) : file(kind) {}
    dump::AppendedFile file;
    uint64_t begin_ns = 0, begin_bytes = 0, events = 0;
  };
  bool is_long_enough(const Part& part, uint64_t now_ns) const;

  RecordWindow kept_;
  std::unique_ptr<Part> whole_, next_;
};

}  // namespace tensorscope::recording
