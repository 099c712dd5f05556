#include "snapshot/source/source_reader.h"

#include <pthread.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "support/clock.h"
#include "support/futex.h"
#include "support/helper_thread.h"
#include "support/pages.h"
#include "support/spin_lock.h"
#include "support/state.h"

namespace tensorscope::snapshot {

namespace {

constexpr size_t kReaderStackBytes = size_t{512} << 10;  // glibc takes the thread's static TLS out of it, too
constexpr size_t kMostTextBytes = size_t{1} << 20;
constexpr uint64_t kMostBytesOfAll = uint64_t{32} << 20;

constinit SpinLock g_reading;  // only ever tried; the thread gives it back

}  // namespace

// Belongs to both threads; who leaves last gives it back. Files, lines, paths and texts lie behind it.
struct SourceReader::Shared {
  enum : uint32_t { kReading, kEnded, kAbandoned };
  std::atomic<uint32_t> stage;
  std::atomic<uint32_t> done;  // files
  pthread_t thread;
  uint64_t until_ns;
  size_t bytes;  // of the whole
  size_t count;
  SourceFile* files;
  SourceLimits limits;

  static Shared* make(const WantedLines& wanted, std::string_view directory);
};

SourceReader::Shared* SourceReader::Shared::make(const WantedLines& wanted, std::string_view directory) {
  size_t lines = 0, paths = 0;
  for (const WantedLines::File& file : wanted.files) {
    lines += file.lines.size();
    paths += directory.size() + 1 + file.path.size() + 1;
  }
  const size_t texts = std::min(lines * kMostLineBytes, kMostTextBytes);
  const size_t bytes =
      sizeof(Shared) + wanted.files.size() * sizeof(SourceFile) + lines * sizeof(SourceLine) + paths + texts;
  auto* shared = static_cast<Shared*>(map_pages(bytes));
  if (shared == nullptr) return nullptr;
  shared->bytes = bytes;
  shared->count = wanted.files.size();
  shared->files = reinterpret_cast<SourceFile*>(shared + 1);
  auto* line = reinterpret_cast<SourceLine*>(shared->files + shared->count);
  char* text = reinterpret_cast<char*>(line + lines);
  SourceFile* out = shared->files;
  for (const WantedLines::File& file : wanted.files) {
    *out++ = {text, line, uint32_t(file.lines.size()), SourceState::left_out, 0, 0};
    if (file.path.front() != '/' && !directory.empty()) {
      text = std::copy(directory.begin(), directory.end(), text);
      *text++ = '/';
    }
    text = std::copy(file.path.begin(), file.path.end(), text) + 1;  // the pages are zeroed
    for (const uint32_t number : file.lines) *line++ = {number, 0, nullptr};
  }
  shared->limits = {0, kMostBytesOfAll, text, texts, false};
  return shared;
}

void* SourceReader::run(void* argument) {
  ++t_inside;
  pthread_setname_np(pthread_self(), "tensorscope-src");
  auto* shared = static_cast<Shared*>(argument);
  for (size_t i = 0; i < shared->count; ++i) {
    if (shared->stage.load(std::memory_order_acquire) == Shared::kAbandoned) break;
    read_source_file(shared->files[i], shared->limits);
    shared->done.store(uint32_t(i + 1), std::memory_order_release);
  }
  g_reading.unlock();
  if (shared->stage.exchange(Shared::kEnded, std::memory_order_acq_rel) == Shared::kAbandoned) {
    unmap_pages(shared, shared->bytes);
  } else {
    futex_wake(shared->stage);
  }
  return nullptr;
}

void SourceReader::start(const WantedLines& wanted, const char* directory, uint64_t newest_unix_ns,
                         unsigned patience_ms) {
  if (wanted.files.empty()) return;
  if (!g_reading.try_lock()) {
    why_ = "a source file that was wanted for an earlier dump is still being read";
    return;
  }
  Shared* shared = Shared::make(wanted, directory);
  if (shared != nullptr) {
    shared->limits.newest_unix_ns = newest_unix_ns;
    shared->until_ns = monotonic_ns() + uint64_t{patience_ms} * 1'000'000;
    if (start_helper_thread(kReaderStackBytes, run, shared, &shared->thread)) {
      shared_ = shared;
      return;
    }
    unmap_pages(shared, shared->bytes);
  }
  g_reading.unlock();
  why_ = shared == nullptr ? "there was not enough memory" : "no thread could be made to read source files";
}

void SourceReader::wait() {
  if (shared_ == nullptr) return;
  while (shared_->stage.load(std::memory_order_acquire) == Shared::kReading) {
    if (!futex_wait_until(shared_->stage, Shared::kReading, shared_->until_ns)) break;
  }
  done_ = shared_->done.load(std::memory_order_acquire);
  if (done_ < shared_->count) {
    why_ = "the source files could not be read in time";
  } else if (shared_->limits.texts_full) {
    why_ = "the limit of 1 MiB of text was reached";
  }
}

std::span<const SourceFile> SourceReader::files() const {
  return shared_ != nullptr ? std::span<const SourceFile>(shared_->files, done_) : std::span<const SourceFile>();
}

SourceReader::~SourceReader() {
  if (shared_ == nullptr) return;
  const pthread_t thread = shared_->thread;  // the thread may give the memory back as soon as it is abandoned
  uint32_t stage = Shared::kReading;
  if (shared_->stage.compare_exchange_strong(stage, Shared::kAbandoned, std::memory_order_acq_rel)) {
    pthread_detach(thread);
  } else {
    pthread_join(thread, nullptr);
    unmap_pages(shared_, shared_->bytes);
  }
}

void source_after_fork_in_child() { source_file_after_fork_in_child(); }

}  // namespace tensorscope::snapshot
