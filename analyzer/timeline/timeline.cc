#include "timeline/timeline.h"

#include <algorithm>
#include <unordered_map>

#include "recording/chunk_root.h"
#include "recording/live_state.h"
#include "values_generated.h"

namespace tensorscope::analyzer {

namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr size_t kMostSpikes = 10;

size_t lifetime_class(uint64_t ns) {
  size_t i = 0;
  for (uint64_t limit = kMillisecond; i < MemoryTimeline::kLifetimes - 2 && ns >= limit; limit *= 10) ++i;
  return i;
}

bool begins_step(const format::RecordedEvent& event) {
  return event.type == format::EventType::step && event.mode != uint8_t(format::StepMode::eval);
}

// The first look: how long, which devices, where their peaks are.
class Overview : public RecordingVisitor {
 public:
  explicit Overview(MemoryTimeline& out) : out_(out) {}

  void table(const ChunkView& chunk) override {
    if (chunk.type != format::kProcess) return;
    if (const auto* process = chunk_root<format::Process>(chunk)) out_.start_ns = process->start_ns();
  }
  void segment(const format::RecordingSegment& segment) override {
    if (out_.segments++ == 0) out_.begin_ns = segment.begin_ns();
    out_.lost += segment.lost();
    state_.begin(segment);
    for (const auto& [device, total] : state_.devices) note(device, total.live_bytes, segment.begin_ns());
  }
  void live_allocation(const format::Allocation& row) override { state_.add(row); }

  bool event(const format::RecordedEvent& event) override {
    ++events_;
    if (begins_step(event)) step_ = event.number;
    const bool reported = event.type == format::EventType::device_reported;
    if (!reported && event.type != format::EventType::allocated && event.type != format::EventType::freed) return true;
    if (!state_.apply(event)) return true;
    const Device device = event.type == format::EventType::freed ? state_.freed->device
                                                                 : device_of(event.device_type, event.device_index);
    note(device, state_.devices[device].live_bytes, event.ns);
    if (reported) curves_[device].reserved_peak = std::max(curves_[device].reserved_peak, event.pass);
    return true;
  }

  void finish() {
    for (auto& [device, curve] : curves_) {
      curve.device = device;
      curve.end_bytes = state_.devices[device].live_bytes;
      out_.curves.push_back(curve);
    }
    const DeviceCurve* most = nullptr;
    for (const DeviceCurve& curve : out_.curves) {
      if (curve.peak_bytes == 0 || (most && curve.device.is_cpu())) continue;
      if (!most || most->device.is_cpu() || curve.peak_bytes > most->peak_bytes) most = &curve;
    }
    out_.device = most ? most->device : kHost;
  }

 private:
  void note(Device device, uint64_t bytes, uint64_t ns) {
    DeviceCurve& curve = curves_[device];
    if (bytes <= curve.peak_bytes) return;
    curve.peak_bytes = bytes;
    curve.peak_ns = ns;
    curve.peak_events = events_;
    curve.peak_step = step_;
  }

  MemoryTimeline& out_;
  LiveState state_;
  std::map<Device, DeviceCurve> curves_;
  uint64_t events_ = 0, step_ = 0;
};

// Finds moments at which more was live than on both sides: a stack of rises that have not fallen again.
class SpikeFinder {
 public:
  explicit SpikeFinder(std::vector<Spike>& out) : out_(out) {}

  // Live bytes change to `bytes` at this moment.
  void change(uint64_t bytes, uint64_t ns, uint64_t events, uint64_t step, uint32_t site) {
    if (bytes > top_.bytes || (!rising_ && bytes > bytes_)) {
      if (!rising_) low_ = bytes_, begin_ns_ = ns_ != 0 ? ns_ : ns, top_ = {};
      rising_ = true;
      if (bytes > top_.bytes) top_ = {bytes, ns, events, step, site};
    } else if (rising_ && bytes < top_.bytes) {
      const uint64_t side = std::max(low_, bytes);
      // It is over once most of the rise is gone.
      if (top_.bytes - bytes >= (top_.bytes - low_) / 2) {
        keep({begin_ns_, std::max(ns, begin_ns_), top_.ns, top_.events, top_.bytes - side, top_.step, top_.site});
        rising_ = false;
        top_ = {};
      }
    }
    bytes_ = bytes;
    ns_ = ns;
  }

 private:
  struct Top {
    uint64_t bytes = 0, ns = 0, events = 0, step = 0;
    uint32_t site = 0;
  };
  void keep(const Spike& spike) {
    const auto at = std::upper_bound(out_.begin(), out_.end(), spike,
                                     [](const Spike& a, const Spike& b) { return a.bytes > b.bytes; });
    if (at == out_.end() && out_.size() == kMostSpikes) return;
    out_.insert(at, spike);
    if (out_.size() > kMostSpikes) out_.pop_back();
  }

  std::vector<Spike>& out_;
  uint64_t bytes_ = 0, ns_ = 0, low_ = 0, begin_ns_ = 0;
  bool rising_ = false;
  Top top_;
};

// The second look: everything about the one device.
class Details : public RecordingVisitor {
 public:
  Details(MemoryTimeline& out, size_t parts) : out_(out), spikes_(out.spikes), parts_(parts) {
    for (DeviceCurve& curve : out_.curves) {
      curve.highest.assign(parts, 0);
      if (curve.device == out_.device) peak_events_ = curve.peak_events;
    }
  }

  void segment(const format::RecordingSegment& segment) override {
    advance(segment.begin_ns());
    state_.begin(segment);
  }
  void live_allocation(const format::Allocation& row) override { state_.add(row); }

  bool event(const format::RecordedEvent& event) override {
    ++events_;
    advance(event.ns);
    if (begins_step(event)) {
      begin_step(event);
      return true;
    }
    if (event.type == format::EventType::allocated) {
      if (state_.apply(event)) allocated(event);
    } else if (event.type == format::EventType::freed) {
      if (state_.apply(event)) freed(event);
    }
    if (events_ == peak_events_) note_peak();
    return true;
  }

  void finish(uint64_t end_ns) {
    advance(end_ns);
    end_step(end_ns);
    for (const auto& [serial, a] : state_.allocations) {
      if (!(a.device == out_.device)) continue;
      churn(a.site).live_at_end += a.nbytes;
      count_lifetime(MemoryTimeline::kLifetimes - 1, a.nbytes);
    }
    for (const auto& [number, row] : sites_) out_.sites.push_back(row);
    std::sort(out_.sites.begin(), out_.sites.end(), [](const SiteChurn& a, const SiteChurn& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.site < b.site;
    });
  }

 private:
  SiteChurn& churn(uint32_t site) {
    SiteChurn& row = sites_[site];
    row.site = site;
    return row;
  }
  void count_lifetime(size_t at, uint64_t nbytes) {
    ++out_.lifetime_counts[at];
    out_.lifetime_bytes[at] += nbytes;
  }
  uint64_t live() { return state_.devices[out_.device].live_bytes; }

  void allocated(const format::RecordedEvent& event) {
    const Device device = device_of(event.device_type, event.device_index);
    note_curve(device);
    if (!(device == out_.device)) return;
    SiteChurn& row = churn(event.site);
    ++row.allocations;
    row.bytes += event.nbytes;
    step_.allocations += 1;
    step_.bytes += event.nbytes;
    step_.peak = std::max(step_.peak, live());
    spikes_.change(live(), event.ns, events_, step_.number, event.site);
  }

  void freed(const format::RecordedEvent& event) {
    const RecordedAllocation& gone = *state_.freed;
    if (!(gone.device == out_.device)) return;
    const uint64_t lived = event.ns - std::min(event.ns, gone.created_ns);
    count_lifetime(lifetime_class(lived), gone.nbytes);
    const bool in_step = out_.steps_seen ? gone.created_ns >= step_.begin_ns : lived < 10 * kMillisecond;
    if (in_step) churn(gone.site).short_lived += gone.nbytes;
    spikes_.change(live(), event.ns, events_, step_.number, gone.site);
  }

  void note_peak() {
    for (const auto& [serial, a] : state_.allocations) {
      if (a.device == out_.device) churn(a.site).live_at_peak += a.nbytes;
    }
  }

  void begin_step(const format::RecordedEvent& event) {
    if (out_.steps_seen && event.number == step_.number) return;
    end_step(event.ns);
    out_.steps_seen = true;
    step_ = {};
    step_.number = event.number;
    step_.begin_ns = event.ns;
    step_.begin_live = step_.peak = live();
  }
  void end_step(uint64_t ns) {
    if (!out_.steps_seen) return;
    step_.end_ns = std::max(ns, step_.begin_ns);
    step_.end_live = live();
    out_.steps.push_back(step_);
  }

  // A curve's parts up to this time hold what is live now.
  void advance(uint64_t ns) {
    const size_t part = part_of(ns);
    for (; part_ < part; ++part_) {
      for (DeviceCurve& curve : out_.curves) {
        const uint64_t now = state_.devices[curve.device].live_bytes;
        curve.highest[part_] = std::max(curve.highest[part_], now);
        curve.highest[part_ + 1] = now;
      }
    }
  }
  void note_curve(Device device) {
    for (DeviceCurve& curve : out_.curves) {
      if (!(curve.device == device)) continue;
      curve.highest[part_] = std::max(curve.highest[part_], state_.devices[device].live_bytes);
    }
  }
  size_t part_of(uint64_t ns) const {
    const uint64_t length = std::max<uint64_t>(1, out_.end_ns - out_.begin_ns);
    const uint64_t past = std::min(length, ns - std::min(ns, out_.begin_ns));
    return std::min(parts_ - 1, size_t(static_cast<unsigned __int128>(past) * parts_ / length));
  }

  MemoryTimeline& out_;
  LiveState state_;
  SpikeFinder spikes_;
  std::unordered_map<uint32_t, SiteChurn> sites_;
  StepRow step_;
  const size_t parts_;
  size_t part_ = 0;
  uint64_t events_ = 0, peak_events_ = 0;
};

template <typename Value>
uint64_t median_around(const std::vector<StepRow>& steps, size_t at, Value value) {
  constexpr size_t kSide = 4;
  std::vector<uint64_t> around;
  for (size_t i = at - std::min(at, kSide); i < std::min(steps.size(), at + kSide + 1); ++i) {
    if (i != at) around.push_back(value(steps[i]));
  }
  if (around.empty()) return value(steps[at]);
  std::nth_element(around.begin(), around.begin() + ptrdiff_t(around.size() / 2), around.end());
  return around[around.size() / 2];
}

}  // namespace

const DeviceCurve* MemoryTimeline::curve() const {
  for (const DeviceCurve& curve : curves) {
    if (curve.device == device) return &curve;
  }
  return nullptr;
}

MemoryTimeline read_timeline(const RecordingFile& file, size_t parts) {
  MemoryTimeline out;
  Overview overview(out);
  RecordingEnds ends = file.replay(overview);
  overview.finish();
  out.end_ns = std::max(ends.end_ns, out.begin_ns);
  out.events = ends.events;
  out.late = ends.late;
  out.ended = ends.ended;
  out.problems = std::move(ends.problems);
  Details details(out, std::max<size_t>(1, parts));
  file.replay(details);
  details.finish(out.end_ns);
  return out;
}

std::vector<size_t> unusual_steps(const std::vector<StepRow>& steps) {
  const auto more = [](uint64_t value, uint64_t usual) { return value > usual && value - usual >= usual / 10 + 1; };
  const auto bytes = [](const StepRow& step) { return step.bytes; };
  const auto peak = [](const StepRow& step) { return step.peak; };
  std::vector<size_t> found;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (more(steps[i].bytes, median_around(steps, i, bytes)) || more(steps[i].peak, median_around(steps, i, peak))) {
      found.push_back(i);
    }
  }
  return found;
}

}  // namespace tensorscope::analyzer
