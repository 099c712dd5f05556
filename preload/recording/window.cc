// SPDX-License-Identifier: Apache-2.0
#include "recording/window.h"

#include <utility>

#include "tensorscope/recording_format.h"

namespace tensorscope::recording {

namespace {

const dump::FileKind kRecordingFile = {".recording", format::kRecordingMagic, format::kRecordingMajor,
                                       format::kRecordingMinor};
const dump::FileKind kNextFile = {".recording.next", format::kRecordingMagic, format::kRecordingMajor,
                                  format::kRecordingMinor};

}  // namespace

bool Window::begin(uint64_t now_ns) {
  auto part = std::make_unique<Part>(kRecordingFile);
  part->begin_ns = now_ns;
  const bool made = part->file.create(dump::directory_of_files().c_str());
  whole_ = std::move(part);
  return made;
}

bool Window::append(uint32_t type, const void* payload, size_t length) {
  return whole_->file.append(type, payload, length) && (!next_ || next_->file.append(type, payload, length));
}

void Window::add_events(uint64_t count) {
  whole_->events += count;
  if (next_) next_->events += count;
}

bool Window::is_long_enough(const Part& part, uint64_t now_ns) const {
  // An eighth besides the beginning, so that the work of beginning stays small beside that of recording.
  const uint64_t bytes = part.file.bytes();
  if (kept_.bytes != 0) return bytes >= kept_.bytes / 2 && bytes - part.begin_bytes >= kept_.bytes / 8;
  return now_ns - part.begin_ns >= kept_.seconds * 1'000'000'000;
}

bool Window::wants_next(uint64_t now_ns) const {
  return kept_.is_set() && whole_ && !next_ && is_long_enough(*whole_, now_ns);
}

dump::ChunkSink* Window::begin_next(uint64_t now_ns) {
  next_ = std::make_unique<Part>(kNextFile);
  next_->begin_ns = now_ns;
  return next_->file.create(dump::directory_of_files().c_str()) ? &next_->file : nullptr;
}

bool Window::next_has_begun() {
  next_->begin_bytes = next_->file.bytes();
  return kept_.bytes == 0 || next_->begin_bytes <= kept_.bytes / 4 * 3;
}

bool Window::move(uint64_t now_ns) {
  if (!next_ || !is_long_enough(*next_, now_ns)) return true;
  if (!next_->file.take_place_of(whole_->file)) return false;
  whole_ = std::move(next_);
  return true;
}

void Window::end_next() {
  if (next_) next_->file.remove();
  next_.reset();
}

Window::Failure Window::failure() const {
  const dump::AppendedFile& file = next_ && next_->file.error() != 0 ? next_->file : whole_->file;
  return {file.error(), file.failed(), file.path()};
}

}  // namespace tensorscope::recording
