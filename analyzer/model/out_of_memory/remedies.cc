#include "model/out_of_memory/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "dump_generated.h"
#include "model/findings/case.h"
#include "model/leaks.h"
#include "model/out_of_memory/checkpointing.h"
#include "model/out_of_memory/freed.h"

namespace tensorscope::model::oom {

namespace {

constexpr uint64_t kLeastRemedy = uint64_t{1} << 20;  // bytes
constexpr size_t kMostHolders = 4, kMostCheckpoints = 3, kMostProcesses = 3;

class Finder {
 public:
  explicit Finder(const RemedyCase& about)
      : about_(about),
        view_(about.views.back()),
        dump_(view_.dump),
        memory_(about.device.is_cpu() ? nullptr : dump_.memory_of(about.device)),
        fit_(dump_, memory_, about.cached, about.request) {
    const Part* allocated = about.balance.name == "allocated" ? &about.balance : about.balance.find(allocated_name());
    if (allocated != nullptr && allocated->bytes) allocated_ = uint64_t(std::max<int64_t>(0, *allocated->bytes));
    least_ = std::max<uint64_t>(allocated_ / 100, std::min(kLeastRemedy, std::max<uint64_t>(about.request / 8, 1)));
  }

  std::vector<Remedy> find() {
    if (memory_ != nullptr) {
      process_limit();
      empty_cache();
      other_pools();
      expandable_segments();
      other_processes();
    }
    if (about_.device.is_cpu()) child_processes();
    garbage_and_holders();
    checkpointing();
    smaller_batch();
    std::stable_sort(found_.begin(), found_.end(), [](const Remedy& a, const Remedy& b) {
      return std::tuple(a.bytes, b.kind) > std::tuple(b.bytes, a.kind);
    });
    return std::move(found_);
  }

 private:
  const char* allocated_name() const { return about_.device.is_cpu() ? "torch" : "allocated"; }

  // `counted`: the bytes on which its answer about fitting rests, free pieces of the allocator included.
  void add(Remedy remedy, uint64_t counted) {
    if (remedy.fits == Fits::no) {
      const uint64_t left = host_left();
      remedy.missing = !about_.device.is_cpu()           ? fit_.missing(counted)
                       : left + counted < about_.request ? about_.request - left - counted
                                                         : 0;
    }
    found_.push_back(std::move(remedy));
  }
  void add(Remedy remedy) {
    const uint64_t bytes = remedy.bytes;
    add(std::move(remedy), bytes);
  }

  uint64_t host_left() const { return dump_.failure ? dump_.failure->left_bytes : 0; }
  bool host_possible() const {
    return about_.device.is_cpu() && about_.request != 0 && dump_.failure && dump_.failure->limit_bytes != 0;
  }
  // Memory of the host that is freed need not go back to the system at once.
  Fits host_fits(uint64_t bytes) const {
    if (!host_possible()) return Fits::unknown;
    return host_left() + bytes >= about_.request ? Fits::may : Fits::no;
  }
  Fits fits(const Freed& freed) const {
    return about_.device.is_cpu() ? host_fits(freed.bytes) : fit_.after(freed.allocations, freed.bytes);
  }
  Fits fits_at_most(uint64_t bytes) const {
    return about_.device.is_cpu() ? host_fits(bytes) : fit_.at_most(bytes + about_.cached.bytes);
  }

  void process_limit() {
    if (!fit_.possible() || fit_.with_driver(0) != Fits::yes) return;
    Remedy remedy;
    remedy.kind = RemedyKind::process_limit;
    remedy.subject = "what the driver has free";
    remedy.takes =
        "the driver had enough when it was asked: memory was freed meanwhile, or this process may not have it "
        "(torch.cuda.set_per_process_memory_fraction)";
    remedy.bytes = memory_->driver_free;
    remedy.fits = Fits::may;
    add(std::move(remedy));
  }

  void empty_cache() {
    if (about_.cached.returnable == 0 || !about_.cached.native) return;
    Remedy remedy;
    remedy.kind = RemedyKind::empty_cache;
    remedy.subject = "cached segments that are wholly free";
    remedy.takes = "torch.cuda.empty_cache() gives them back to the driver";
    if (dump_.failure && dump_.failure->kind == uint8_t(dump::FailureKind::device)) {
      remedy.takes += "; torch did so itself before it gave up, for the pool that it asked";
    }
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
        remedy.subject = fmt::format("private pool ({}, {})", part.pool_user, part.pool);
        remedy.takes = "it has a piece that is large enough: let go of the CUDA graph or MemPool that owns it";
      } else if (about_.cached.streams > 1) {
        remedy.kind = RemedyKind::other_stream;
        remedy.subject = fmt::format("free memory of stream {:#x}", part.stream);
        remedy.takes =
            "it has a piece that is large enough, for that stream alone: ask for memory on that stream, or "
            "call torch.cuda.empty_cache() where the whole segment is free";
      } else {
        continue;
      }
      add(std::move(remedy));
    }
  }

  void expandable_segments() {
    if (about_.request == 0 || !fit_.possible() || !about_.cached.native || about_.cached.expandable) return;
    uint64_t pieces = 0;
    for (const FreePart& part : about_.cached.parts) {
      if (part.private_pool() || !of_size_class(part, about_.request)) continue;
      pieces += part.bytes;
      if (part.largest >= about_.request) return;  // pieces are not what is wrong
    }
    if (pieces == 0 || fit_.with_driver(0) == Fits::yes || fit_.at_most(pieces) != Fits::may) return;
    Remedy remedy;
    remedy.kind = RemedyKind::expandable_segments;
    remedy.subject = "free memory in pieces";
    remedy.takes = fmt::format("set {}=expandable_segments:True: each piece is too small, together they would do",
                               settings_variable(dump_.process.torch_version));
    remedy.reckoned = "free pieces and what the driver has left; pages of 20 MiB that are partly in use stay";
    remedy.bytes = pieces;
    remedy.at_most = true;
    remedy.fits = Fits::may;
    add(std::move(remedy));
  }

  void other_processes() {
    std::vector<DeviceProcess> processes = memory_->processes;
    std::stable_sort(processes.begin(), processes.end(), [](const DeviceProcess& a, const DeviceProcess& b) {
      return a.bytes.value_or(0) > b.bytes.value_or(0);
    });
    processes.resize(std::min(processes.size(), kMostProcesses));
    for (const DeviceProcess& process : processes) {
      if (!process.bytes || *process.bytes < least_) continue;
      Remedy remedy;
      remedy.kind = RemedyKind::other_process;
      remedy.subject = fmt::format("process {}", process.pid);
      remedy.takes = "another process on this device: end it, or move one of the two";
      remedy.bytes = *process.bytes;
      remedy.fits = fit_.with_driver(remedy.bytes);
      add(std::move(remedy));
    }
  }

  void child_processes() {
    const uint64_t bytes = dump_.totals.children_resident_bytes;
    const auto limit = dump_.failure ? dump::MemoryLimit(dump_.failure->limit) : dump::MemoryLimit::none;
    const bool shared_limit = limit != dump::MemoryLimit::address_space && limit != dump::MemoryLimit::data;
    if (dump_.totals.children == 0 || bytes < least_ || !shared_limit) return;
    Remedy remedy;
    remedy.kind = RemedyKind::child_processes;
    remedy.subject = fmt::format("{} child process{}", dump_.totals.children, dump_.totals.children == 1 ? "" : "es");
    remedy.takes = "fewer workers of the DataLoader, or less that they prefetch";
    remedy.reckoned = "resident memory, in which pages that are shared count for each of them";
    remedy.bytes = bytes;
    remedy.at_most = true;
    remedy.fits = host_fits(bytes);
    add(std::move(remedy));
  }

  void add_freed(RemedyKind kind, std::string subject, std::string takes, const Freed& freed) {
    if (freed.bytes < least_) return;
    Remedy remedy;
    remedy.kind = kind;
    remedy.subject = std::move(subject);
    remedy.takes = std::move(takes);
    remedy.bytes = freed.bytes;
    remedy.fits = fits(freed);
    add(std::move(remedy), freed.bytes + about_.cached.bytes);
  }

  void garbage_and_holders() {
    if (!dump_.references.present) return;
    const Retention retention(dump_, view_.accounts);
    std::vector<bool> explained(dump_.tensors.size());
    for (const LeakFinding& finding : find_leaks(about_.views, /*whole=*/true).findings) {
      const bool cycle = finding.kind == LeakKind::reference_cycle;
      const bool holder = finding.kind == LeakKind::accumulated_graph || finding.kind == LeakKind::traceback ||
                          finding.kind == LeakKind::state_not_detached || finding.kind == LeakKind::container ||
                          finding.kind == LeakKind::module_cache;
      if (!cycle && !holder) continue;
      for (uint32_t tensor : finding.tensors) explained[tensor] = true;
      const Freed freed = freed_with(dump_, retention.only_by(held_once(finding.tensors)).tensors, about_.device);
      add_freed(cycle ? RemedyKind::collect_garbage : RemedyKind::drop_holder, finding.subject,
                cycle ? "gc.collect() frees them; break the cycle, and they go by themselves" : finding.look_at, freed);
    }
    containers(retention, explained);
  }

  // Without those that another variable or container holds as well: they stay when one of the two lets go.
  std::vector<uint32_t> held_once(const std::vector<uint32_t>& tensors) const {
    std::vector<uint32_t> result;
    for (uint32_t tensor : tensors) {
      const Reference* first = nullptr;
      bool once = true;
      for (const Reference& row : dump_.references.of(tensor)) {
        if (!holds(row)) continue;
        if (first == nullptr) first = &row;
        once = once && row.root == first->root && row.scope == first->scope &&
               without_indexes(row.text) == without_indexes(first->text);
      }
      if (once) result.push_back(tensor);
    }
    return result;
  }

  void containers(const Retention& retention, const std::vector<bool>& explained) {
    const Case find({view_}, /*whole=*/true);
    std::vector<const Series*> largest;
    for (const Series& series : find.series()) {
      if (series.container && may_be_dropped(series)) largest.push_back(&series);
    }
    std::stable_sort(largest.begin(), largest.end(),
                     [](const Series* a, const Series* b) { return a->growth.bytes.back() > b->growth.bytes.back(); });
    // Something that is held by two names is in neither alone; what was looked at is enough.
    constexpr size_t kMostAsked = 8;
    if (largest.size() > kMostAsked) largest.resize(kMostAsked);
    size_t added = 0;
    for (const Series* series : largest) {
      const std::vector<uint32_t>& members = series->members.back();
      const auto known = std::count_if(members.begin(), members.end(), [&](uint32_t i) { return explained[i]; });
      if (size_t(known) * 2 > members.size() || added == kMostHolders) continue;
      const Retained kept = retention.only_by(held_once(members));
      const size_t before = found_.size();
      add_freed(RemedyKind::drop_holder, find.label(*series),
                kept.nodes.empty() ? "let go of those that are not needed any more"
                                   : "keep .item() or .detach() of them, not the tensors: they keep their graphs",
                freed_with(dump_, kept.tensors, about_.device));
      added += found_.size() - before;
    }
  }

  static bool may_be_dropped(const Series& series) {
    const auto role = dump::ReferenceRole(series.example.role);
    const auto root = dump::ReferenceRoot(series.example.root);
    const bool variable = root == dump::ReferenceRoot::global || root == dump::ReferenceRoot::local ||
                          root == dump::ReferenceRoot::suspended || root == dump::ReferenceRoot::class_;
    return variable && (role == dump::ReferenceRole::plain || role == dump::ReferenceRole::module_attribute);
  }

  void checkpointing() {
    std::vector<Checkpoint> all = checkpoints(view_, about_.device, least_);
    if (all.size() > kMostCheckpoints) all.resize(kMostCheckpoints);
    for (const Checkpoint& one : all) {
      Remedy remedy;
      remedy.kind = RemedyKind::checkpoint;
      remedy.subject = one.modules;
      remedy.takes = fmt::format("torch.utils.checkpoint around {} computes its activations again in backward",
                                 one.instances > 1 ? "each of these" : "this module");
      remedy.reckoned =
          "what only nodes made in its forward pass saved, without its inputs, its outputs and what a variable holds";
      if (one.instances > 1) {
        remedy.reckoned += fmt::format("; one of the {} at a time comes back in backward", one.instances);
      }
      remedy.bytes = one.bytes;
      remedy.at_most = true;
      const uint64_t stays_free = one.instances > 1 ? one.bytes - one.largest : one.bytes;
      remedy.fits = fits_at_most(stays_free);
      add(std::move(remedy), stays_free + about_.cached.bytes);
    }
  }

  void smaller_batch() {
    const Part* tensors = about_.balance.find("tensors");
    if (tensors == nullptr || allocated_ == 0) return;
    uint64_t scaling = 0;
    for (const Part& part : tensors->parts) {
      for (Category category :
           {Category::saved_activation, Category::input_batch, Category::output, Category::temporary}) {
        if (part.name == text(category)) scaling += uint64_t(*part.bytes);
      }
    }
    if (scaling / 2 < least_) return;
    Remedy remedy;
    remedy.kind = RemedyKind::smaller_batch;
    remedy.subject = "half the batch";
    remedy.takes =
        fmt::format("activations, outputs and inputs are {:.0f} % of what torch has; they grow with the batch",
                    100.0 * double(scaling) / double(allocated_));
    remedy.reckoned = "half of them, if all of them do; the request would be smaller as well";
    remedy.bytes = scaling / 2;
    remedy.at_most = true;
    uint64_t missing = 0;
    if (host_possible()) {
      remedy.fits = host_left() + scaling / 2 >= about_.request / 2 ? Fits::may : Fits::no;
      missing = remedy.fits == Fits::no ? about_.request / 2 - host_left() - scaling / 2 : 0;
    } else if (fit_.possible()) {
      const FitTest half(dump_, memory_, about_.cached, about_.request / 2);
      remedy.fits = half.at_most(scaling / 2 + about_.cached.bytes);
      missing = half.missing(scaling / 2 + about_.cached.bytes);
    }
    remedy.missing = missing;
    found_.push_back(std::move(remedy));
  }

  const RemedyCase& about_;
  const View& view_;
  const Dump& dump_;
  const DeviceMemory* memory_;
  const FitTest fit_;
  uint64_t allocated_ = 0, least_ = 0;
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

}  // namespace tensorscope::model::oom
