// SPDX-License-Identifier: Apache-2.0
#include "oom/remedies.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <tuple>

#include "dump_generated.h"
#include "oom/holder_remedies.h"
#include "oom/program_remedies.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr size_t kMaxProcesses = 3;
constexpr uint64_t kLittle = 10;  // without a request, what gives less than this part of the largest comes last

class Finder {
 public:
  explicit Finder(const RemedyCase& about)
      : about_(about),
        view_(about.views.back()),
        dump_(view_.dump),
        headroom_(about),
        fit_(headroom_.device()),
        memory_(headroom_.memory()) {}

  std::vector<Remedy> find() {
    if (headroom_.too_large()) return {};
    if (memory_ != nullptr) {
      process_limit();
      empty_cache();
      other_pools();
      expandable_segments();
      other_processes();
    }
    if (about_.device.is_cpu()) {
      shared_limit();
      child_processes();
      malloc_trim();
    }
    const LinesToChange lines(view_);
    std::ranges::move(holder_remedies(about_, headroom_, lines), std::back_inserter(found_));
    std::ranges::move(program_remedies(about_, headroom_, lines), std::back_inserter(found_));
    uint64_t most = 0;
    for (const Remedy& remedy : found_) most = std::max(most, remedy.bytes);
    const auto later = [&](const Remedy& one) {
      const bool little = one.fits == Fits::unknown && one.bytes < most / kLittle;
      return one.kind != RemedyKind::process_limit && !one.holds_most && (one.fits == Fits::no || little);
    };
    std::stable_sort(found_.begin(), found_.end(), [&](const Remedy& a, const Remedy& b) {
      const auto order = [&](const Remedy& one) { return std::tuple(!one.holds_most, later(one), rank(one.kind)); };
      return std::tuple(order(a), b.bytes, a.kind) < std::tuple(order(b), a.bytes, b.kind);
    });
    return std::move(found_);
  }

 private:
  void add(Remedy remedy) {
    headroom_.fill_missing(remedy, remedy.bytes);
    found_.push_back(std::move(remedy));
  }

  void process_limit() {
    if (!fit_.limited()) return;
    Remedy remedy;
    remedy.kind = RemedyKind::process_limit;
    remedy.set_bound(memory_->driver_free, fit_.needed());
    remedy.fits = Fits::may;
    add(std::move(remedy));
  }

  // After a failed request torch has done it by itself: without its word on pools, what is left is likely a private
  // one's.
  void empty_cache() {
    if (about_.cached.returnable == 0 || !about_.cached.native) return;
    const bool failed =
        about_.request != 0 && dump_.failure && dump_.failure->kind == uint8_t(format::FailureKind::device);
    if (failed && !about_.cached.streams_known) return;
    Remedy remedy;
    remedy.kind = RemedyKind::empty_cache;
    remedy.tried = failed;
    remedy.bytes = about_.cached.returnable;
    remedy.fits = fit_.with_driver(remedy.bytes);
    add(std::move(remedy));
  }

  // A free piece that would have done, but belongs to another stream or to a private pool.
  void other_pools() {
    if (about_.request == 0 || !about_.cached.streams_known) return;
    for (const FreePart& part : about_.cached.parts) {
      if (part.largest < about_.request || !of_size_class(part, about_.request)) continue;
      Remedy remedy;
      remedy.bytes = part.bytes;
      remedy.fits = Fits::may;
      if (part.private_pool()) {
        remedy.kind = RemedyKind::private_pool;
        remedy.pool = part.pool;
        remedy.pool_user = part.pool_user;
      } else if (about_.cached.streams > 1) {
        remedy.kind = RemedyKind::other_stream;
        remedy.stream = part.stream;
      } else {
        continue;
      }
      add(std::move(remedy));
    }
  }

  void expandable_segments() {
    if (about_.request == 0 || !fit_.possible() || !about_.cached.native || about_.cached.expandable) return;
    bool pieces = false;
    for (const FreePart& part : about_.cached.parts) {
      if (part.private_pool() || !of_size_class(part, about_.request)) continue;
      pieces = pieces || part.bytes != 0;
      if (part.largest >= about_.request) return;  // pieces are not what is wrong
    }
    const uint64_t usable = usable_with_pages(*memory_, about_.request);
    if (!pieces || fit_.limited() || usable < about_.request) return;
    Remedy remedy;
    remedy.kind = RemedyKind::expandable_segments;
    remedy.names = {settings_variable(dump_.process.torch_version)};
    remedy.set_bound(usable, 0);
    remedy.fits = Fits::may;
    add(std::move(remedy));
  }

  void other_processes() {
    if (fit_.limited()) return;  // what they have is not what is missing
    std::vector<DeviceProcess> processes = memory_->processes;
    std::stable_sort(processes.begin(), processes.end(), [](const DeviceProcess& a, const DeviceProcess& b) {
      return a.bytes.value_or(0) > b.bytes.value_or(0);
    });
    processes.resize(std::min(processes.size(), kMaxProcesses));
    for (const DeviceProcess& process : processes) {
      if (!process.bytes || *process.bytes < headroom_.least()) continue;
      Remedy remedy;
      remedy.kind = RemedyKind::other_process;
      remedy.pid = process.pid;
      remedy.bytes = *process.bytes;
      remedy.fits = fit_.with_driver(remedy.bytes);
      add(std::move(remedy));
    }
  }

  // Under a limit that the failure names and that other processes share: what is used, and by how much of it this one.
  struct Shared {
    uint64_t used = 0, own = 0;  // used 0: there is none
  };
  Shared shared() const {
    if (!dump_.failure || dump_.failure->limit_bytes == 0) return {};
    const auto limit = format::MemoryLimit(dump_.failure->limit);
    if (limit != format::MemoryLimit::cgroup && limit != format::MemoryLimit::machine) return {};
    const Totals& totals = dump_.totals;
    const uint64_t anonymous = totals.anonymous_bytes + totals.shared_bytes;
    if (anonymous == 0 && totals.resident_bytes == 0) return {};
    // The request counts as used already.
    const uint64_t own = (anonymous != 0 ? anonymous : totals.resident_bytes) + about_.request;
    return {dump_.failure->limit_bytes - std::min(dump_.failure->limit_bytes, dump_.failure->left_bytes), own};
  }
  uint64_t children() const {
    const Totals& totals = dump_.totals;
    return totals.children_private_bytes != 0 ? totals.children_private_bytes : totals.children_resident_bytes;
  }

  // Where others have most, nothing that this process gives back is the answer.
  void shared_limit() {
    const auto [used, own] = shared();
    const uint64_t others = used - std::min(used, own + children());
    if (others == 0 || others <= used / 2) return;
    Remedy remedy;
    remedy.kind = RemedyKind::shared_limit;
    remedy.holds_most = true;
    const bool group = format::MemoryLimit(dump_.failure->limit) == format::MemoryLimit::cgroup;
    remedy.names = {group ? "control group" : "machine"};
    remedy.set_bound(others, 0);
    remedy.fits = headroom_.fits_at_most(others);
    add(std::move(remedy));
  }

  void child_processes() {
    const uint64_t bytes = dump_.totals.children_resident_bytes;
    const auto limit = dump_.failure ? format::MemoryLimit(dump_.failure->limit) : format::MemoryLimit::none;
    const bool shared_limit = limit != format::MemoryLimit::address_space && limit != format::MemoryLimit::data &&
                              limit != format::MemoryLimit::shared_memory;
    if (dump_.totals.children == 0 || bytes < headroom_.least() || !shared_limit) return;
    Remedy remedy;
    remedy.kind = RemedyKind::child_processes;
    remedy.count = dump_.totals.children;
    remedy.holds_most = children() > shared().used / 2 && shared().used != 0;
    remedy.set_bound(bytes, 0);
    remedy.fits = headroom_.fits_at_most(bytes);
    add(std::move(remedy));
  }

  // For limits that count what is resident: address space stays mapped.
  void malloc_trim() {
    const uint64_t bytes = dump_.totals.heap_free;
    const auto limit = dump_.failure ? format::MemoryLimit(dump_.failure->limit) : format::MemoryLimit::none;
    const bool mapped = limit == format::MemoryLimit::address_space || limit == format::MemoryLimit::data ||
                        limit == format::MemoryLimit::shared_memory;
    if (mapped || bytes < headroom_.least()) return;
    Remedy remedy;
    remedy.kind = RemedyKind::malloc_trim;
    remedy.set_bound(bytes, 0);
    remedy.fits = headroom_.fits_at_most(bytes);
    add(std::move(remedy));
  }

  const RemedyCase& about_;
  const View& view_;
  const Dump& dump_;
  const Headroom headroom_;
  const FitTest& fit_;
  const DeviceMemory* memory_;
  std::vector<Remedy> found_;
};

}  // namespace

std::vector<Remedy> find_remedies(const RemedyCase& about) { return Finder(about).find(); }

// The new name came with 2.8, which warns of the old one; but CUDA's allocator then looked for some settings under the
// old name alone (pytorch issue 183387, seen with 2.9 to 2.11).
const char* settings_variable(const std::string& torch_version) {
  int major = 0, minor = 0;
  if (std::sscanf(torch_version.c_str(), "%d.%d", &major, &minor) != 2) return "PYTORCH_CUDA_ALLOC_CONF";
  return major > 2 || (major == 2 && minor >= 12) ? "PYTORCH_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF";
}

}  // namespace tensorscope::analyzer::oom
