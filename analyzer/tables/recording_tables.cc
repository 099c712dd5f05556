// A recording: its events as they are in the file, steps, the curve of live memory.
#include "dump/type_names.h"
#include "tables/cells.h"
#include "values_generated.h"

namespace tensorscope::tables {

namespace {

using format::EventType;
using format::RecordedEvent;
using enum Type;

const RecordedEvent& event_at(At at) { return *static_cast<const RecordedEvent*>(at.object); }

const char* event_word(EventType type) {
  switch (type) {
    case EventType::allocated:
      return "allocated";
    case EventType::freed:
      return "freed";
    case EventType::tensor_made:
      return "tensor_made";
    case EventType::tensor_released:
      return "tensor_released";
    case EventType::tensor_seen:
      return "tensor_seen";
    case EventType::tensor_gone:
      return "tensor_gone";
    case EventType::disregarded:
      return "disregarded";
    case EventType::device_reported:
      return "device_reported";
    case EventType::step:
      return "step";
    case EventType::failure:
      return "failure";
    case EventType::runtime_allocated:
      return "runtime_allocated";
    case EventType::runtime_freed:
      return "runtime_freed";
  }
  return "";
}

bool has_device(const RecordedEvent& event) {
  return event.type == EventType::allocated || event.type == EventType::runtime_allocated ||
         event.type == EventType::device_reported || event.type == EventType::failure;
}

constexpr Column kEvents[] = {
    kDumpColumn,
    {"event", whole, "number in its file, from 1", [](In, At at, Out out) { out.whole(at.index + 1); }},
    {"time_ns", whole, "monotonic clock, as created_ns", [](In, At at, Out out) { out.whole(event_at(at).ns); }},
    {"type", word,
     "allocated, freed, tensor_made, tensor_released, tensor_seen, tensor_gone, disregarded, device_reported, step, "
     "failure, runtime_allocated, runtime_freed",
     [](In, At at, Out out) { out.text(event_word(event_at(at).type)); }},
    {"object", whole, "id of the allocation, tensor or block",
     [](In, At at, Out out) { number_or_null(out, event_at(at).makes() ? event_at(at).order : event_at(at).serial); }},
    {"bytes", whole, "of an allocation, a failure; of a tensor that is released or seen its storage's",
     [](In, At at, Out out) { number_or_null(out, event_at(at).nbytes); }},
    {"address", whole, "of an allocation; of a tensor made the object's; of one released or seen its storage's data",
     [](In, At at, Out out) { number_or_null(out, event_at(at).pointer); }},
    {"device", word, "of allocations, reports and failures",
     [](In, At at, Out out) {
       const RecordedEvent& event = event_at(at);
       if (has_device(event)) out.text(analyzer::device_of(event.device_type, event.device_index).text());
     }},
    {"site", whole, "site; its row is in `sites`",
     [](In, At at, Out out) {
       if (event_at(at).makes()) number_or_null(out, event_at(at).site);
     }},
    {"thread", whole, "", [](In, At at, Out out) { number_or_null(out, event_at(at).thread); }},
    {"seen_node", whole, "autograd node in whose backward it was allocated",
     [](In, At at, Out out) { number_or_null(out, event_at(at).node); }},
    {"step", whole, "of type step: its number",
     [](In, At at, Out out) {
       if (event_at(at).type == EventType::step) out.whole(event_at(at).number);
     }},
    {"mode", word, "of type step: train, eval, unknown",
     [](In, At at, Out out) {
       if (event_at(at).type == EventType::step)
         out.text(format::EnumNameStepMode(format::StepMode(event_at(at).mode)));
     }},
    {"allocated_bytes", whole, "of type device_reported: what the device's allocator said",
     [](In, At at, Out out) {
       if (event_at(at).type == EventType::device_reported) out.whole(event_at(at).number);
     }},
    {"reserved_bytes", whole, "likewise",
     [](In, At at, Out out) {
       if (event_at(at).type == EventType::device_reported) out.whole(event_at(at).pass);
     }},
};

class EventRows : public analyzer::RecordingVisitor {
 public:
  explicit EventRows(const VisitRow& visit) : visit_(visit) {}
  bool event(const RecordedEvent& event) override { return visit_({.index = number_++, .object = &event}); }

 private:
  const VisitRow& visit_;
  size_t number_ = 0;
};

const analyzer::StepRow& step_at(In in, At at) { return in.timeline().steps[at.index]; }

constexpr Column kSteps[] = {
    kDumpColumn,
    {"step", whole, "number", [](In in, At at, Out out) { out.whole(step_at(in, at).number); }},
    {"device", word, "that the bytes are of: the one with the highest peak",
     [](In in, At, Out out) { out.text(in.timeline().device.text()); }},
    {"begin_ns", whole, "monotonic clock", [](In in, At at, Out out) { out.whole(step_at(in, at).begin_ns); }},
    {"duration_ns", whole, "",
     [](In in, At at, Out out) { out.whole(step_at(in, at).end_ns - step_at(in, at).begin_ns); }},
    {"allocations", whole, "made in it", [](In in, At at, Out out) { out.whole(step_at(in, at).allocations); }},
    {"bytes_made", whole, "allocated in it", [](In in, At at, Out out) { out.whole(step_at(in, at).bytes); }},
    {"begin_live_bytes", whole, "live memory", [](In in, At at, Out out) { out.whole(step_at(in, at).begin_live); }},
    {"end_live_bytes", whole, "", [](In in, At at, Out out) { out.whole(step_at(in, at).end_live); }},
    {"peak_bytes", whole, "", [](In in, At at, Out out) { out.whole(step_at(in, at).peak); }},
};

// Row::index: the device, Row::part: the part of the time.
const analyzer::DeviceCurve& curve_at(In in, At at) { return in.timeline().curves[at.index]; }

constexpr Column kCurve[] = {
    kDumpColumn,
    {"device", word, "", [](In in, At at, Out out) { out.text(curve_at(in, at).device.text()); }},
    {"part", whole, "of equal parts of the recording's time, from 0", [](In, At at, Out out) { out.whole(at.part); }},
    {"begin_ns", whole, "monotonic clock",
     [](In in, At at, Out out) {
       const analyzer::MemoryTimeline& time = in.timeline();
       const size_t parts = curve_at(in, at).highest.size();
       out.whole(time.begin_ns + uint64_t(double(time.end_ns - time.begin_ns) * double(at.part) / double(parts)));
     }},
    {"peak_bytes", whole, "the most that was live in this part",
     [](In in, At at, Out out) { out.whole(curve_at(in, at).highest[at.part]); }},
    {"reserved_bytes", whole, "the most that the device's allocator had reserved",
     [](In in, At at, Out out) {
       if (at.part < curve_at(in, at).reserved.size()) out.whole(curve_at(in, at).reserved[at.part]);
     }},
};

const analyzer::SiteChurn& churn_at(In in, At at) { return in.timeline().sites[at.index]; }

constexpr Column kChurn[] = {
    kDumpColumn,
    {"site", whole, "site; its row is in `sites`",
     [](In in, At at, Out out) { number_or_null(out, churn_at(in, at).site); }},
    {"allocations", whole, "made in all", [](In in, At at, Out out) { out.whole(churn_at(in, at).allocations); }},
    {"bytes_made", whole, "allocated in all", [](In in, At at, Out out) { out.whole(churn_at(in, at).bytes); }},
    {"live_at_peak_bytes", whole, "", [](In in, At at, Out out) { out.whole(churn_at(in, at).live_at_peak); }},
    {"live_at_end_bytes", whole, "", [](In in, At at, Out out) { out.whole(churn_at(in, at).live_at_end); }},
    {"short_lived_bytes", whole, "freed within their step or within 10 ms",
     [](In in, At at, Out out) { out.whole(churn_at(in, at).short_lived); }},
};

constexpr Table kRecordingTables[] = {
    {"events", "Events of a recording, in order.", FileKind::recording, kEvents,
     [](In in, const VisitRow& visit) {
       EventRows rows(visit);
       in.recording().replay(rows);
     }},
    {"steps", "Steps of a recording.", FileKind::recording, kSteps,
     [](In in, const VisitRow& visit) { each_index(in.timeline().steps.size(), visit); }},
    {"curve", "Live memory over time, for each device.", FileKind::recording, kCurve,
     [](In in, const VisitRow& visit) {
       for (size_t device = 0; device < in.timeline().curves.size(); ++device) {
         for (size_t part = 0; part < in.timeline().curves[device].highest.size(); ++part) {
           if (!visit({.index = device, .part = part})) return;
         }
       }
     }},
    {"churn", "What each site allocated over the recording.", FileKind::recording, kChurn,
     [](In in, const VisitRow& visit) { each_index(in.timeline().sites.size(), visit); }},
};

}  // namespace

std::span<const Table> recording_tables() { return kRecordingTables; }

}  // namespace tensorscope::tables
