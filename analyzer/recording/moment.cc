// SPDX-License-Identifier: Apache-2.0
#include "recording/moment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "dump/chunk_root.h"
#include "dump/reader.h"
#include "recording/live_state.h"
#include "values_generated.h"

namespace tensorscope::analyzer {

namespace {

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < Number{}) return std::nullopt;
  return value;
}

// Counts events, and keeps the moments of one look that may be the one.
class Finder : public RecordingVisitor {
 public:
  explicit Finder(const MomentName& name) : name_(name) {}

  void segment(const format::RecordingSegment& segment) override {
    state_.begin(segment);
    for (const auto& [device, total] : state_.devices) note(device, total.live_bytes);
  }
  void live_allocation(const format::Allocation& row) override { state_.add(row); }
  void tensor(const format::Tensor&, std::span<const int64_t>, bool) override {}

  bool table(const ChunkView& chunk) override {
    if (chunk.type != format::kProcess) return true;
    const auto* process = chunk_root<format::Process>(chunk);
    if (process) start_ns_ = process->start_ns();
    return process != nullptr;
  }

  bool event(const format::RecordedEvent& event) override {
    if (event.type == format::EventType::step && event.mode != uint8_t(format::StepMode::eval)) begin_step(event);
    if (event.type == format::EventType::failure) failure_ = {events_ + 1, event.ns};
    // Tensors do not matter here.
    const bool about_memory = event.type == format::EventType::allocated || event.type == format::EventType::freed;
    ++events_;
    if (event.type == format::EventType::tensor_made || event.type == format::EventType::tensor_seen) take_in_tensor();
    if (about_memory && state_.apply(event) && event.type == format::EventType::allocated) {
      const Device device = device_of(event.device_type, event.device_index);
      note(device, state_.devices[device].live_bytes);
    }
    last_ = {events_, std::max(last_.ns, event.ns)};
    if (name_.what == MomentName::What::time && event.ns <= start_ns_ + name_.ns) before_ = last_;
    return true;
  }

  Moment found(const std::string& name, uint64_t end_ns) const;

 private:
  struct Peak {
    uint64_t bytes = 0;
    Moment at;
  };
  void begin_step(const format::RecordedEvent& event) {
    if (!step_seen_) first_step_ = event.number;
    if (step_seen_ && event.number > name_.step && step_ <= name_.step && !step_end_)
      step_end_ = Moment{events_, event.ns};
    step_ = event.number;
    step_seen_ = true;
  }
  bool in_question() const { return name_.what != MomentName::What::step_peak || (step_seen_ && step_ == name_.step); }
  void note(Device device, uint64_t bytes) {
    if (!in_question()) return;
    Peak& peak = peaks_[device];
    if (bytes > peak.bytes || peak.at.events == 0) peak = {bytes, {events_, state_.ns}};
  }
  // The memory of the tensor made now may be the one that made the peak: the moment is after both.
  void take_in_tensor() {
    for (auto& [device, peak] : peaks_) {
      if (peak.at.events == events_ - 1) peak.at.events = events_;
    }
  }
  // Of the device that had the most; memory of the CPU counts where no other device was used.
  std::optional<Moment> peak() const {
    const Peak* most = nullptr;
    bool cpu = true;
    for (const auto& [device, peak] : peaks_) {
      if (peak.bytes == 0) continue;
      if (most && (device.is_cpu() || (!cpu && peak.bytes <= most->bytes))) continue;
      most = &peak;
      cpu = device.is_cpu();
    }
    return most ? std::optional<Moment>(most->at) : std::nullopt;
  }

  const MomentName name_;
  LiveState state_;
  std::map<Device, Peak> peaks_;
  uint64_t events_ = 0, start_ns_ = 0;
  uint64_t step_ = 0, first_step_ = 0;
  bool step_seen_ = false;
  Moment last_, before_;
  std::optional<Moment> step_end_, failure_;
};

Moment Finder::found(const std::string& name, uint64_t end_ns) const {
  switch (name_.what) {
    case MomentName::What::end:
      return {events_, std::max(last_.ns, end_ns)};
    case MomentName::What::time: {
      if (start_ns_ + name_.ns > std::max(last_.ns, end_ns)) {
        throw BadInput(fmt::format("{} ends {:.1f} s after the start of the program.", name,
                                   double(std::max(last_.ns, end_ns) - start_ns_) / 1e9));
      }
      return {before_.events, start_ns_ + name_.ns};
    }
    case MomentName::What::failure:
      if (!failure_) throw BadInput(name + " has no failed allocation.");
      return *failure_;
    case MomentName::What::step:
    case MomentName::What::step_peak:
      if (!step_seen_)
        throw BadInput(name + " has no steps: neither an optimizer's step nor a module's call was seen.");
      if (name_.step < first_step_ || name_.step > step_) {
        throw BadInput(fmt::format("{} has steps {} to {}.", name, first_step_, step_));
      }
      break;
    case MomentName::What::peak:
      break;
  }
  if (name_.what == MomentName::What::step) return step_end_.value_or(Moment{events_, std::max(last_.ns, end_ns)});
  if (const std::optional<Moment> at = peak()) return *at;
  throw BadInput(name + " has no allocation there.");
}

}  // namespace

std::optional<MomentName> read_moment_name(std::string_view text) {
  using What = MomentName::What;
  if (text == "end") return MomentName{What::end};
  if (text == "peak") return MomentName{What::peak};
  if (text == "oom") return MomentName{What::failure};
  if (text.starts_with("step=")) {
    text.remove_prefix(5);
    const bool peak = text.ends_with(":peak");
    if (peak) text.remove_suffix(5);
    const auto step = number<uint64_t>(text);
    if (!step) return std::nullopt;
    return MomentName{peak ? What::step_peak : What::step, 0, *step};
  }
  if (!text.ends_with('s')) return std::nullopt;
  text.remove_suffix(1);
  const bool milliseconds = text.ends_with('m');
  if (milliseconds) text.remove_suffix(1);
  const auto seconds = number<double>(text);
  if (!seconds || !(*seconds < 1e9)) return std::nullopt;
  return MomentName{What::time, uint64_t(*seconds * (milliseconds ? 1e6 : 1e9)), 0};
}

Moment find_moment(const RecordingFile& file, const MomentName& name) {
  Finder finder(name);
  const RecordingEnds ends = file.replay(finder);
  return finder.found(file.name(), ends.end_ns);
}

std::string recording_path(const std::string& moment) {
  std::error_code error;
  const size_t at = moment.rfind('@');
  return at == std::string::npos || std::filesystem::exists(moment, error) ? moment : moment.substr(0, at);
}

Dump read_dump_or_moment(const std::string& path) {
  std::error_code error;
  std::string file = path;
  MomentName name;
  if (!std::filesystem::exists(path, error)) {
    const size_t at = path.rfind('@');
    if (at != std::string::npos && is_recording(path.substr(0, at))) {
      const auto named = read_moment_name(std::string_view(path).substr(at + 1));
      if (!named) {
        throw BadInput("'" + path.substr(at + 1) +
                       "' is no moment: write @peak, @12.5s, @step=40, @step=40:peak, @oom or @end.");
      }
      name = *named;
      file.resize(at);
    }
  }
  if (!is_recording(file)) return read_dump(path);
  const RecordingFile recording(file);
  return dump_at(recording, path, find_moment(recording, name));
}

}  // namespace tensorscope::analyzer
