// SPDX-License-Identifier: Apache-2.0
// A recording: its events as they are in the file, steps, the curve of live memory.
#include "dump/type_names.h"
#include "tables/cells.h"
#include "values_generated.h"

namespace tensorscope::tables {

namespace {

using format::EventType;
using format::RecordedEvent;
using enum Type;

const RecordedEvent& event_at(const Row& row) { return *static_cast<const RecordedEvent*>(row.object); }

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
    {"event", int64, "number in its file, from 1",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(row.index + 1); }},
    {"time_ns", int64, "monotonic clock, as created_ns",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(event_at(row).ns); }},
    {"type", dictionary,
     "allocated, freed, tensor_made, tensor_released, tensor_seen, tensor_gone, disregarded, device_reported, step, "
     "failure, runtime_allocated, runtime_freed",
     [](InputFile&, const Row& row, ColumnData& column) { column.text(event_word(event_at(row).type)); }},
    {"object", int64, "id of the allocation, tensor or block",
     [](InputFile&, const Row& row, ColumnData& column) {
       number_or_null(column, event_at(row).makes() ? event_at(row).order : event_at(row).serial);
     }},
    {"bytes", int64, "of an allocation, a failure; of a tensor that is released or seen its storage's",
     [](InputFile&, const Row& row, ColumnData& column) { number_or_null(column, event_at(row).nbytes); }},
    {"address", int64, "of an allocation; of a tensor made the object's; of one released or seen its storage's data",
     [](InputFile&, const Row& row, ColumnData& column) { number_or_null(column, event_at(row).pointer); }},
    {"device", dictionary, "of allocations, reports and failures",
     [](InputFile&, const Row& row, ColumnData& column) {
       const RecordedEvent& event = event_at(row);
       if (has_device(event)) column.text(analyzer::device_of(event.device_type, event.device_index).text());
     }},
    {"site", int64, "site; its row is in `sites`",
     [](InputFile&, const Row& row, ColumnData& column) {
       if (event_at(row).makes()) number_or_null(column, event_at(row).site);
     }},
    {"thread", int64, "",
     [](InputFile&, const Row& row, ColumnData& column) { number_or_null(column, event_at(row).thread); }},
    {"seen_node", int64, "autograd node in whose backward it was allocated",
     [](InputFile&, const Row& row, ColumnData& column) { number_or_null(column, event_at(row).node); }},
    {"step", int64, "of type step: its number",
     [](InputFile&, const Row& row, ColumnData& column) {
       if (event_at(row).type == EventType::step) column.int64(event_at(row).number);
     }},
    {"mode", dictionary, "of type step: train, eval, unknown",
     [](InputFile&, const Row& row, ColumnData& column) {
       if (event_at(row).type == EventType::step)
         column.text(format::EnumNameStepMode(format::StepMode(event_at(row).mode)));
     }},
    {"allocated_bytes", int64, "of type device_reported: what the device's allocator said",
     [](InputFile&, const Row& row, ColumnData& column) {
       if (event_at(row).type == EventType::device_reported) column.int64(event_at(row).number);
     }},
    {"reserved_bytes", int64, "likewise",
     [](InputFile&, const Row& row, ColumnData& column) {
       if (event_at(row).type == EventType::device_reported) column.int64(event_at(row).pass);
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

const analyzer::StepRow& step_at(InputFile& file, const Row& row) { return file.timeline().steps[row.index]; }

constexpr Column kSteps[] = {
    kDumpColumn,
    {"step", int64, "number",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(step_at(file, row).number); }},
    {"device", dictionary, "that the bytes are of: the one with the highest peak",
     [](InputFile& file, const Row&, ColumnData& column) { column.text(file.timeline().device.text()); }},
    {"begin_ns", int64, "monotonic clock",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(step_at(file, row).begin_ns); }},
    {"duration_ns", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.int64(step_at(file, row).end_ns - step_at(file, row).begin_ns);
     }},
    {"allocations", int64, "made in it",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(step_at(file, row).allocations); }},
    {"bytes_made", int64, "allocated in it",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(step_at(file, row).bytes); }},
    {"begin_live_bytes", int64, "live memory",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(step_at(file, row).begin_live); }},
    {"end_live_bytes", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(step_at(file, row).end_live); }},
    {"peak_bytes", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(step_at(file, row).peak); }},
};

// Row::index: the device, Row::part: the part of the time.
const analyzer::DeviceCurve& curve_at(InputFile& file, const Row& row) { return file.timeline().curves[row.index]; }

constexpr Column kCurve[] = {
    kDumpColumn,
    {"device", dictionary, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(curve_at(file, row).device.text()); }},
    {"part", int64, "of equal parts of the recording's time, from 0",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(row.part); }},
    {"begin_ns", int64, "monotonic clock",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const analyzer::MemoryTimeline& time = file.timeline();
       const size_t parts = curve_at(file, row).highest.size();
       column.int64(time.begin_ns + uint64_t(double(time.end_ns - time.begin_ns) * double(row.part) / double(parts)));
     }},
    {"peak_bytes", int64, "the most that was live in this part",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(curve_at(file, row).highest[row.part]); }},
    {"reserved_bytes", int64, "the most that the device's allocator had reserved",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (row.part < curve_at(file, row).reserved.size()) column.int64(curve_at(file, row).reserved[row.part]);
     }},
};

const analyzer::SiteChurn& churn_at(InputFile& file, const Row& row) { return file.timeline().sites[row.index]; }

constexpr Column kChurn[] = {
    kDumpColumn,
    {"site", int64, "site; its row is in `sites`",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, churn_at(file, row).site); }},
    {"allocations", int64, "made in all",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(churn_at(file, row).allocations); }},
    {"bytes_made", int64, "allocated in all",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(churn_at(file, row).bytes); }},
    {"live_at_peak_bytes", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(churn_at(file, row).live_at_peak); }},
    {"live_at_end_bytes", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(churn_at(file, row).live_at_end); }},
    {"short_lived_bytes", int64, "freed within their step or within 10 ms",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(churn_at(file, row).short_lived); }},
};

constexpr Table kRecordingTables[] = {
    {"events", "Events of a recording, in order.", FileKind::recording, kEvents,
     [](InputFile& file, const VisitRow& visit) {
       EventRows rows(visit);
       file.recording().replay(rows);
     }},
    {"steps", "Steps of a recording.", FileKind::recording, kSteps,
     [](InputFile& file, const VisitRow& visit) { each_index(file.timeline().steps.size(), visit); }},
    {"curve", "Live memory over time, for each device.", FileKind::recording, kCurve,
     [](InputFile& file, const VisitRow& visit) {
       for (size_t device = 0; device < file.timeline().curves.size(); ++device) {
         for (size_t part = 0; part < file.timeline().curves[device].highest.size(); ++part) {
           if (!visit({.index = device, .part = part})) return;
         }
       }
     }},
    {"churn", "What each site allocated over the recording.", FileKind::recording, kChurn,
     [](InputFile& file, const VisitRow& visit) { each_index(file.timeline().sites.size(), visit); }},
};

}  // namespace

std::span<const Table> recording_tables() { return kRecordingTables; }

}  // namespace tensorscope::tables
