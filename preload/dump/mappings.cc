// SPDX-License-Identifier: Apache-2.0
#include "dump/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "dump/fork_gate.h"
#include "support/clock.h"
#include "support/enough_memory.h"
#include "support/small_file.h"
#include "support/status.h"

namespace tensorscope::dump {

namespace {

using format::MappingKind;

constexpr uint64_t kMaxResident = uint64_t{8} << 30;
constexpr uint64_t kLongestReadNs = 100'000'000;  // of the processor

MappingKind mapping_kind(std::string_view name) {
  if (name.empty() || name.starts_with("[anon")) return MappingKind::anonymous;
  if (name == "[heap]") return MappingKind::heap;
  if (name == "[stack]") return MappingKind::stack;
  for (const char* shared : {"/dev/shm/", "/memfd:", "/SYSV", "/dev/zero"}) {
    if (name.starts_with(shared)) return MappingKind::shared;
  }
  return name.front() == '/' ? MappingKind::file : MappingKind::other;
}

// "Rss:     1234 kB"
bool kibibytes(std::string_view line, std::string_view key, uint64_t& bytes) {
  if (!line.starts_with(key)) return false;
  uint64_t number = 0;
  for (const char c : line.substr(key.size())) {
    if (c >= '0' && c <= '9') number = number * 10 + uint64_t(c - '0');
  }
  bytes += number * 1024;
  return true;
}

void add_up(Mapping& sum, const Mapping& one) {
  sum.count += one.count;
  sum.resident += one.resident;
  sum.private_bytes += one.private_bytes;
  sum.anonymous += one.anonymous;
}

// Is closed also where the work is left in the middle.
class OpenFile final : public UndoneScope {
 public:
  explicit OpenFile(const char* path) : fd_(int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC))) {}
  ~OpenFile() { undo(); }
  void undo() override {
    if (fd_ >= 0) syscall(SYS_close, fd_);
    fd_ = -1;
  }
  explicit operator bool() const { return fd_ >= 0; }
  ssize_t read(char* to, size_t size) const {
    ssize_t got;
    do {
      got = syscall(SYS_read, fd_, to, size);
    } while (got < 0 && errno == EINTR);
    return got;
  }

 private:
  int fd_;
};

Status read_all(MappingSums& sums) {
  constexpr Status not_understood = Status::failed("/proc/self/smaps could not be understood");
  char text[12288];  // a line has a path of 4 KiB at most
  if (read_small_file("/proc/self/status", text, 4096) == 0) return Status::failed("/proc/self/status cannot be read");
  if (number_after(text, "VmRSS:") * 1024 > kMaxResident)
    return Status::failed("skipped: the process is so large that it would take too long");
  const ForkGateScope gate;  // no child inherits the descriptor
  const OpenFile file("/proc/self/smaps");
  if (!gate || !file) return Status::failed("/proc/self/smaps cannot be read");
  const uint64_t begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  size_t kept = 0;
  for (;;) {
    const ssize_t got = file.read(text + kept, sizeof(text) - kept);
    if (got < 0) return Status::failed("/proc/self/smaps cannot be read");
    if (got == 0) return kept == 0 ? Status::done() : not_understood;
    const size_t size = kept + size_t(got), taken = sums.take({text, size});
    kept = size - taken;
    memmove(text, text + taken, kept);
    if (kept == sizeof(text)) return not_understood;
    if (memory_is_short()) return Status::failed("not enough memory");
    if (read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin > kLongestReadNs) return Status::failed("it took too long");
  }
}

}  // namespace

size_t MappingSums::take(std::string_view text) {
  size_t taken = 0;
  for (size_t end; (end = text.find('\n', taken)) != text.npos; taken = end + 1) line(text.substr(taken, end - taken));
  return taken;
}

void MappingSums::line(std::string_view text) {
  const size_t word = text.find(' ');
  if (word == text.npos || word == 0) return;
  if (text[word - 1] != ':') return begin(text);
  if (present_ == SIZE_MAX) return;
  Mapping& now = all_[present_];
  kibibytes(text, "Rss:", now.resident) || kibibytes(text, "Private_Clean:", now.private_bytes) ||
      kibibytes(text, "Private_Dirty:", now.private_bytes) || kibibytes(text, "Anonymous:", now.anonymous);
}

// "7f00-7f10 r-xp 00000000 fe:00 1234    /usr/lib/libc.so.6": the name comes after five words, and may have blanks.
void MappingSums::begin(std::string_view header) {
  size_t at = 0;
  for (int words = 0; words < 5 && at != header.npos; ++words) {
    at = header.find(' ', at);
    if (at != header.npos) at = header.find_first_not_of(' ', at);
  }
  const std::string name(at == header.npos ? std::string_view() : header.substr(at));
  const auto [found, added] = by_name_.emplace(name, all_.size());
  if (added) all_.push_back({name, mapping_kind(name)});
  present_ = found->second;
  all_[present_].count += 1;
}

std::vector<Mapping> MappingSums::largest() const {
  const auto larger = [](const Mapping& a, const Mapping& b) {
    return a.resident != b.resident ? a.resident > b.resident : a.name < b.name;
  };
  std::vector<Mapping> sorted = all_, rows;
  std::sort(sorted.begin(), sorted.end(), larger);
  std::array<Mapping, size_t(MappingKind::MAX) + 1> rest;
  for (Mapping& one : sorted) {
    const bool own_row = one.kind == MappingKind::anonymous || one.kind == MappingKind::heap ||
                         one.kind == MappingKind::stack || one.resident >= kMinMappingBytes;
    if (own_row && rows.size() < kMaxMappingRows) {
      rows.push_back(std::move(one));
    } else {
      add_up(rest[size_t(one.kind)], one);
    }
  }
  for (size_t kind = 0; kind < rest.size(); ++kind) {
    if (rest[kind].count == 0) continue;
    rest[kind].kind = MappingKind(kind);
    rows.push_back(std::move(rest[kind]));
  }
  std::sort(rows.begin(), rows.end(), larger);
  return rows;
}

void read_mappings(Mappings& mappings) {
  mappings.detail = "not enough memory";
  run_or_abandon_on_oom([&] {
    MappingSums sums;
    const Status all = read_all(sums);
    std::vector<Mapping> rows;
    if (all) rows = sums.largest();
    mappings.rows = std::move(rows);
    mappings.detail = all.why();
  });
}

}  // namespace tensorscope::dump
