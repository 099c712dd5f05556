// SPDX-License-Identifier: Apache-2.0
#include "html/state_over_time.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "recording/live_state.h"

namespace tensorscope::html {

namespace {

// One device while the recording is replayed. What its sites had at the highest moment of the part that goes on is what
// they have now, but for those that changed since: of these the former bytes are kept.
class Series {
 public:
  explicit Series(analyzer::Device device) { out_.device = device; }

  // What is alive now is the first moment.
  void begin() {
    for (const uint32_t i : touched_) tell(rows_[i], rows_[i].live);
    out_.change_end.push_back(out_.change_site.size());
  }
  void begin_part(uint64_t ns) {
    high_ = total_;
    high_ns_ = ns;
    ++since_high_;
  }
  void add(uint32_t site, uint64_t nbytes) {
    Row& row = change(site);
    row.live += nbytes;
    total_ += nbytes;
  }
  void remove(uint32_t site, uint64_t nbytes) {
    Row& row = change(site);
    row.live -= std::min(row.live, nbytes);
    total_ -= std::min(total_, nbytes);
  }
  void made(uint32_t site, uint64_t nbytes) {
    Row& row = rows_[index_.at(site)];
    row.made_bytes += nbytes;
    row.made_count += 1;
  }
  // A segment begins: it lists again what is alive.
  void clear() {
    for (Row& row : rows_) {
      if (row.live == 0) continue;
      change(row.site).live = 0;
    }
    total_ = 0;
  }
  void look(uint64_t ns) {
    if (total_ <= high_) return;
    high_ = total_;
    high_ns_ = ns;
    ++since_high_;
  }

  void end_part() {
    for (const uint32_t i : touched_)
      tell(rows_[i], rows_[i].since_high == since_high_ ? rows_[i].at_high : rows_[i].live);
    out_.change_end.push_back(out_.change_site.size());
    for (const uint32_t i : touched_) {
      Row& row = rows_[i];
      tell(row, row.live);
      row.touched = false;
      if (row.made_count == 0) continue;
      out_.made_site.push_back(row.site);
      out_.made_bytes.push_back(row.made_bytes);
      out_.made_count.push_back(row.made_count);
      row.made_bytes = row.made_count = 0;
    }
    touched_.clear();
    out_.change_end.push_back(out_.change_site.size());
    out_.made_end.push_back(out_.made_site.size());
    out_.highest.push_back(high_);
    out_.highest_ns.push_back(high_ns_);
  }

  StateOverTime& out() { return out_; }

 private:
  struct Row {
    uint32_t site = 0;
    bool touched = false;
    uint64_t live = 0, told = 0;
    uint64_t at_high = 0, since_high = 0;
    uint64_t made_bytes = 0, made_count = 0;
  };

  Row& change(uint32_t site) {
    const auto [found, fresh] = index_.try_emplace(site, uint32_t(rows_.size()));
    if (fresh) rows_.push_back({.site = site});
    Row& row = rows_[found->second];
    if (row.since_high != since_high_) {
      row.since_high = since_high_;
      row.at_high = row.live;
    }
    if (!row.touched) {
      row.touched = true;
      touched_.push_back(found->second);
    }
    return row;
  }
  void tell(Row& row, uint64_t bytes) {
    if (row.told == bytes) return;
    row.told = bytes;
    out_.change_site.push_back(row.site);
    out_.change_bytes.push_back(bytes);
  }

  StateOverTime out_;
  std::unordered_map<uint32_t, uint32_t> index_;
  std::vector<Row> rows_;
  std::vector<uint32_t> touched_;
  uint64_t total_ = 0, high_ = 0, high_ns_ = 0, since_high_ = 1;
};

class Moments : public analyzer::RecordingVisitor {
 public:
  Moments(uint64_t begin_ns, uint64_t end_ns, size_t parts)
      : begin_ns_(begin_ns), length_(std::max<uint64_t>(1, end_ns - begin_ns)), parts_(parts) {}

  void segment(const format::RecordingSegment& segment) override {
    if (begun_) advance(segment.begin_ns());
    state_.begin(segment);
    for (auto& [device, series] : series_) series.clear();
    begins_segment_ = true;
  }
  void live_allocation(const format::Allocation& row) override {
    state_.add(row);
    of(analyzer::device_of(row.device_type(), row.device_index())).add(row.site(), row.nbytes());
  }

  bool event(const format::RecordedEvent& event) override {
    advance(event.ns);
    const analyzer::Device device = analyzer::device_of(event.device_type, event.device_index);
    if (!state_.apply(event)) return true;
    if (event.type == format::EventType::freed) {
      of(state_.freed->device).remove(state_.freed->site, state_.freed->nbytes);
    } else if (event.type == format::EventType::allocated) {
      Series& series = of(device);
      series.add(event.site, event.nbytes);
      series.made(event.site, event.nbytes);
      // It was freed before its event was written.
      if (!state_.allocations.contains(event.serial)) series.remove(event.site, event.nbytes);
      series.look(event.ns);
    }
    return true;
  }

  std::vector<StateOverTime> finish() {
    look_after_segment();
    while (part_ < parts_) end_part();
    std::vector<StateOverTime> out;
    for (auto& [device, series] : series_) out.push_back(std::move(series.out()));
    return out;
  }

 private:
  Series& of(analyzer::Device device) {
    const auto [found, fresh] = series_.try_emplace(device, device);
    if (fresh && begun_) found->second.begin();
    for (size_t part = 0; fresh && part < part_; ++part) {
      found->second.begin_part(begin_of(part));
      found->second.end_part();
    }
    if (fresh) found->second.begin_part(begin_of(part_));
    return found->second;
  }
  void look_after_segment() {
    if (!begins_segment_) return;
    begins_segment_ = false;
    for (auto& [device, series] : series_) {
      if (!begun_) series.begin();
      series.look(std::max(state_.ns, begin_of(part_)));
    }
    begun_ = true;
  }
  void advance(uint64_t ns) {
    look_after_segment();
    while (part_ + 1 < parts_ && ns >= begin_of(part_ + 1)) end_part();
  }
  void end_part() {
    for (auto& [device, series] : series_) series.end_part();
    ++part_;
    for (auto& [device, series] : series_) series.begin_part(begin_of(part_));
  }
  uint64_t begin_of(size_t part) const {
    return begin_ns_ + uint64_t(static_cast<unsigned __int128>(length_) * part / parts_);
  }

  const uint64_t begin_ns_, length_;
  const size_t parts_;
  size_t part_ = 0;
  analyzer::LiveState state_;
  std::map<analyzer::Device, Series> series_;
  bool begins_segment_ = true, begun_ = false;
};

}  // namespace

std::vector<StateOverTime> state_over_time(const analyzer::RecordingFile& file, uint64_t begin_ns, uint64_t end_ns,
                                           size_t parts) {
  Moments moments(begin_ns, std::max(begin_ns, end_ns), std::max<size_t>(1, parts));
  file.replay(moments);
  return moments.finish();
}

}  // namespace tensorscope::html
