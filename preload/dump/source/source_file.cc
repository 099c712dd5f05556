// SPDX-License-Identifier: Apache-2.0
#include "dump/source/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "support/fresh_in_child.h"
#include "support/private_descriptor_table.h"
#include "tensorscope/dump_format.h"
#include "tensorscope/rules/source_text.h"

namespace tensorscope::dump {

namespace {

constexpr size_t kSourcePiece = size_t{64} << 10;

// What is open, for the child of a fork.
struct OpenSource {
  std::atomic<int> number{-1};
  bool programs;  // in the program's table
  struct stat status;
};
constinit OpenSource g_open_source{};

bool is_blank_character(char c) { return rules::kBlanks.find(c) != rules::kBlanks.npos; }

// The line that is being read: its text without leading blanks, up to what is kept of it, and the byte after that.
class LineText {
 public:
  void add(const char* text, size_t size) {
    const char* const end = text + size;
    if (length_ == 0) text = std::find_if_not(text, end, is_blank_character);
    const size_t taken = std::min(size_t(end - text), sizeof(text_) - length_);
    memcpy(text_ + length_, text, taken);
    length_ += taken;
  }
  void finish(SourceLine& line, SourceLimits& limits) {
    const size_t length = rules::kept_line({text_, length_}).size();  // it has no blanks before
    length_ = 0;
    if (length > limits.texts_left) {
      limits.texts_full = true;
      return;
    }
    memcpy(limits.texts, text_, length);
    line.text = limits.texts;
    line.length = uint32_t(length);
    limits.texts += length;
    limits.texts_left -= length;
  }

 private:
  char text_[rules::kMaxLineBytes + 1];
  size_t length_ = 0;
};

// Splits what it is given into lines and keeps those that are wanted.
class LinePicker {
 public:
  LinePicker(SourceFile& file, SourceLimits& limits) : next_(file.lines), end_(next_ + file.count), limits_(limits) {}

  void add(const char* text, size_t size) {
    for (const char* const end = text + size; text < end && next_ != end_;) {
      const void* newline = memchr(text, '\n', size_t(end - text));
      const char* const stop = newline != nullptr ? static_cast<const char*>(newline) : end;
      if (next_->number == line_) text_.add(text, size_t(stop - text));
      if (newline == nullptr) return;
      end_line();
      text = stop + 1;
    }
  }
  void end_line() {
    if (next_ != end_ && next_->number == line_) text_.finish(*next_++, limits_);
    ++line_;
  }

 private:
  SourceLine* next_;
  SourceLine* const end_;
  SourceLimits& limits_;
  uint32_t line_ = 1;
  LineText text_;
};

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }
bool same_moment(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

uint64_t written_unix_ns(const struct stat& status) {
  return uint64_t(status.st_mtim.tv_sec) * 1'000'000'000 + uint64_t(status.st_mtim.tv_nsec);
}

SourceState judge_source(const struct stat& status, const SourceLimits& limits) {
  if (!S_ISREG(status.st_mode) || status.st_size < 0) return SourceState::unreadable;
  if (!rules::may_be_what_runs(written_unix_ns(status), limits.newest_unix_ns)) return SourceState::changed;
  if (uint64_t(status.st_size) > kMaxSourceBytes) return SourceState::too_large;
  return uint64_t(status.st_size) > limits.bytes_left ? SourceState::left_out : SourceState::read;
}

void forget_lines(SourceFile& file) {
  for (uint32_t i = 0; i < file.count; ++i) file.lines[i].length = 0;
}

// `before` is the status of the file when it was opened.
SourceState read_source_lines(int opened, const struct stat& before, SourceFile& file, SourceLimits& limits) {
  XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  LinePicker picker(file, limits);
  char piece[kSourcePiece];
  uint64_t done = 0;
  while (done <= uint64_t(before.st_size)) {
    const ssize_t got = pread(opened, piece, sizeof(piece), off_t(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SourceState::unreadable;
    if (got == 0) break;
    XXH3_64bits_update(&hash, piece, size_t(got));
    picker.add(piece, size_t(got));
    done += uint64_t(got);
  }
  picker.end_line();
  limits.bytes_left -= std::min(limits.bytes_left, done);
  struct stat after;
  if (fstat(opened, &after) != 0 || done != uint64_t(before.st_size) || after.st_size != before.st_size ||
      !same_moment(after.st_mtim, before.st_mtim)) {
    return SourceState::changed;
  }
  file.size = done;
  file.hash = XXH3_64bits_digest(&hash);
  return SourceState::read;
}

// A program that closes all descriptors may have given the number to a file of its own.
void close_ours() {
  const int opened = g_open_source.number.exchange(-1, std::memory_order_acq_rel);
  struct stat status;
  if (opened >= 0 && fstat(opened, &status) == 0 && same_file(status, g_open_source.status)) close(opened);
}

// Whoever was reading is a thread of the parent. A descriptor of that thread's own table is not the child's: there the
// number is another file.
FreshInChild g_fresh_source{[] {
  if (g_open_source.programs) close_ours();
  g_open_source.number.store(-1, std::memory_order_relaxed);
}};

}  // namespace

void read_source_file(SourceFile& file, SourceLimits& limits) {
  struct stat named, status;
  // Before it is opened: to open a device may do something.
  file.state = stat(file.path, &named) != 0 ? SourceState::unreadable : judge_source(named, limits);
  if (file.state != SourceState::read) return;
  file.state = SourceState::unreadable;
  const int opened = open(file.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (opened < 0 || fstat(opened, &status) != 0) return;
  g_open_source.status = status;
  g_open_source.programs = !has_private_descriptors();
  g_open_source.number.store(opened, std::memory_order_release);
  file.state = judge_source(status, limits);
  if (file.state == SourceState::read) file.state = read_source_lines(opened, status, file, limits);
  close_ours();
  if (file.state != SourceState::read) forget_lines(file);
}

}  // namespace tensorscope::dump
