// SPDX-License-Identifier: Apache-2.0
#include "recording/flush_writer.h"

#include <algorithm>

#include "dump/chunk.h"
#include "recording_generated.h"
#include "tensorscope/recording_format.h"
#include "tensorscope/rules/element_size.h"

namespace tensorscope::recording {

namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

size_t fill_released(const live::Event* from, size_t most, format::RecordedEvent& e) {
  e.known = from->aux != 0;
  if (!e.known) return 1;
  e.memory_kind = 0;
  e.ndim = from->aux & 0x7f;
  e.dtype = int8_t(from->aux >> 8);
  e.device_type = int8_t(from->aux >> 16);
  e.device_index = int8_t(from->aux >> 24);
  e.pointer = from->a;
  e.nbytes = from->b;
  if ((from->aux & 0x80) == 0) {
    for (size_t i = 0; i < e.ndim; ++i) e.sizes[i] = int64_t(from->c >> (16 * i) & 0xffff);
    return 1;
  }
  const size_t extents = std::min(most - 1, (e.ndim + 2) / 3);
  for (size_t i = 0; i < std::min(e.ndim, extents * 3); ++i) {
    const live::Event& part = from[1 + i / 3];
    e.sizes[i] = int64_t(i % 3 == 0 ? part.a : i % 3 == 1 ? part.b : part.c);
  }
  return 1 + extents;
}

// Makes a recorded event of those at `from`, of which there are `most`; returns of how many.
size_t fill_event(const live::Event* from, size_t most, const TickClock& clock, format::RecordedEvent& e) {
  e.type = format::EventType(from->kind);
  e.order = from->order;
  e.serial = from->serial;
  e.ns = clock.ns(from->ticks);
  e.thread = from->thread;
  e.site = from->site;
  switch (live::EventKind(from->kind)) {
    case live::EventKind::allocated:
      e.pointer = from->a;
      e.nbytes = from->b;
      e.node = from->c;
      format::event_detail::set_memory(from->aux, e);
      break;
    case live::EventKind::tensor_made:
      e.pointer = from->a;
      break;
    case live::EventKind::tensor_released:
    case live::EventKind::tensor_ended:
      e.type = format::EventType::tensor_released;
      return fill_released(from, most, e);
    case live::EventKind::device_reported:
      e.number = from->a;
      e.pass = from->b;
      format::event_detail::set_memory(from->aux, e);
      break;
    case live::EventKind::runtime_allocated:
      e.pointer = from->a;
      e.nbytes = from->b;
      format::event_detail::set_memory(from->aux, e);
      e.by_torch = from->aux >> 24 != 0;
      break;
    case live::EventKind::failure:
      e.nbytes = from->b;
      format::event_detail::set_memory(from->aux, e);
      break;
    case live::EventKind::step:
      e.number = from->a;
      e.pass = from->b;
      e.mode = uint8_t(from->aux);
      break;
    default:
      break;
  }
  return 1;
}

}  // namespace

bool FlushWriter::add(unsigned lane, const live::EventsEnd& end) {
  format::EventEncoder encoder(flush_.begin_ns, rules::element_size);
  bool ok = true;
  for (live::EventSpan events; (events = live::next_events(lane, end)).count != 0;) {
    for (size_t i = 0; ok && i < events.count;) {
      const live::Event& event = events.first[i];
      i += fill_event(&event, events.count - i, clock_, event_);
      note_tensor(event);
      encode(encoder, event_);
      if (live::EventKind(event.kind) == live::EventKind::tensor_ended) {
        event_.type = format::EventType::tensor_gone;
        encode(encoder, event_);
      }
      ok = write_if_much(encoder);
    }
  }
  return ok && write_rest();
}

bool FlushWriter::add(std::vector<format::RecordedEvent>& seen) {
  format::EventEncoder encoder(flush_.begin_ns, rules::element_size);
  for (format::RecordedEvent& event : seen) {
    event.order = std::max(flush_.serial, event.serial);
    event.ns = flush_.end_ns;
    encode(encoder, event);
    if (!write_if_much(encoder)) return false;
  }
  return write_rest();
}

void FlushWriter::encode(format::EventEncoder& encoder, const format::RecordedEvent& event) {
  if (at_ + format::kMaxEventBytes > bytes_.size()) {
    bytes_.resize(bytes_.size() + kChunkBytes);
  }
  at_ = size_t(encoder.encode(event, bytes_.data() + at_) - bytes_.data());
  ++count_;
}

bool FlushWriter::write_if_much(format::EventEncoder& encoder) {
  if (at_ < kChunkBytes) return true;
  encoder = format::EventEncoder(flush_.begin_ns, rules::element_size);
  return write();
}

bool FlushWriter::write() {
  dump::Chunk chunk(format::kEvents, at_ + 1024);
  auto data = chunk.builder().CreateVector(bytes_.data(), at_);
  const auto events = format::CreateEvents(chunk.builder(), flush_.number, flush_.serial, flush_.begin_ns,
                                           flush_.end_ns, uint32_t(count_), data);
  file_.add_events(count_);
  at_ = count_ = 0;
  return chunk.append_to(file_, events);
}

void FlushWriter::note_tensor(const live::Event& event) {
  switch (live::EventKind(event.kind)) {
    case live::EventKind::tensor_made:
      return tensors_.made(event, event_.ns);
    case live::EventKind::tensor_released:
    case live::EventKind::tensor_ended:
    case live::EventKind::tensor_gone:
    case live::EventKind::disregarded:
      return tensors_.gone(event.serial);
    default:
      return;
  }
}

}  // namespace tensorscope::recording
