// SPDX-License-Identifier: Apache-2.0
#include "dump/source/source_reader.h"

#include <algorithm>
#include <atomic>

#include "support/locks/spin_lock.h"
#include "tensorscope/rules/source_text.h"

namespace tensorscope::dump {

namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 20;
constexpr uint64_t kMaxBytesOfAll = uint64_t{32} << 20;

constinit SpinLock g_reading;  // only ever tried; the thread gives it back

}  // namespace

// Files, lines, paths and texts lie behind it.
struct SourceReader::Files : TimedThread::Shared {
  std::atomic<uint32_t> done;
  size_t count;
  SourceFile* files;
  SourceLimits limits;

  struct Sizes {
    Sizes(const WantedLines& wanted, std::string_view directory) {
      for (const WantedLines::File& file : wanted.files) {
        lines += file.lines.size();
        paths += directory.size() + 1 + file.path.size() + 1;
      }
      texts = std::min(lines * rules::kMaxLineBytes, kMaxTextBytes);
      bytes = sizeof(Files) + wanted.files.size() * sizeof(SourceFile) + lines * sizeof(SourceLine) + paths + texts;
    }
    size_t lines = 0, paths = 0, texts = 0, bytes = 0;
  };
  void fill(const WantedLines& wanted, std::string_view directory, const Sizes& sizes);
};

void SourceReader::Files::fill(const WantedLines& wanted, std::string_view directory, const Sizes& sizes) {
  count = wanted.files.size();
  files = reinterpret_cast<SourceFile*>(this + 1);
  auto* line = reinterpret_cast<SourceLine*>(files + count);
  char* text = reinterpret_cast<char*>(line + sizes.lines);
  SourceFile* out = files;
  for (const WantedLines::File& file : wanted.files) {
    *out++ = {text, line, uint32_t(file.lines.size()), SourceState::left_out, 0, 0};
    if (file.path.front() != '/' && !directory.empty()) {
      text = std::copy(directory.begin(), directory.end(), text);
      *text++ = '/';
    }
    text = std::copy(file.path.begin(), file.path.end(), text) + 1;  // the pages are zeroed
    for (const uint32_t number : file.lines) *line++ = {number, 0, nullptr};
  }
  limits = {0, kMaxBytesOfAll, text, sizes.texts, false};
}

constinit const TimedThread::Kind SourceReader::kKind = {"tensorscope-src", read, &g_reading};

void SourceReader::read(TimedThread::Shared& shared) {
  auto& files = static_cast<Files&>(shared);
  for (size_t i = 0; i < files.count && !files.given_up(); ++i) {
    read_source_file(files.files[i], files.limits);
    files.done.store(uint32_t(i + 1), std::memory_order_release);
  }
}

void SourceReader::start(const WantedLines& wanted, const char* directory, uint64_t newest_unix_ns,
                         unsigned patience_ms) {
  if (wanted.files.empty()) return;
  const Files::Sizes sizes(wanted, directory);
  switch (thread_.prepare(kKind, sizes.bytes)) {
    case TimedThread::Prepared::still_running:
      why_ = "a source file of an earlier dump is still being read";
      return;
    case TimedThread::Prepared::no_memory:
      why_ = "not enough memory";
      return;
    case TimedThread::Prepared::yes:
      break;
  }
  auto* files = thread_.shared<Files>();
  files->fill(wanted, directory, sizes);
  files->limits.newest_unix_ns = newest_unix_ns;
  if (!thread_.start(uint64_t{patience_ms} * 1'000'000)) why_ = "no thread could be started to read source files";
}

void SourceReader::wait() {
  const auto* files = thread_.shared<Files>();
  if (files == nullptr) return;
  thread_.wait();
  done_ = files->done.load(std::memory_order_acquire);
  if (done_ < files->count) {
    why_ = "the source files could not be read in time";
  } else if (files->limits.texts_full) {
    why_ = "the limit of 1 MiB of text was reached";
  }
}

std::span<const SourceFile> SourceReader::files() const {
  const auto* files = thread_.shared<Files>();
  return files != nullptr ? std::span<const SourceFile>(files->files, done_) : std::span<const SourceFile>();
}

}  // namespace tensorscope::dump
