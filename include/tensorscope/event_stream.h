// SPDX-License-Identifier: Apache-2.0
// Events of a recording as bytes: numbers as LEB128, most of them as differences to the event before. Written by
// preload/recording, read by analyzer/recording.
//
//   event  := head order time [thread] fields
//   head   := one byte: kind in the low four bits, then flags: 16 another thread than before, 32 another site, 64
//   another
//             device or kind of memory, 128 depends on the kind
//   order  := difference to the order before (zigzag); time := the same in nanoseconds; thread, site: their numbers
//
// allocated:        serial is order; [site] [aux] pointer (zigzag difference to the pointer before, in units of 16
// bytes;
//                   with flag 128 in bytes) nbytes node (order less the node's serial, plus 1; 0: none)
// freed, tensor_gone, disregarded, runtime_freed: order less serial
// runtime_allocated: serial is order; [site] [aux] pointer (zigzag difference to that of the one before) nbytes; flag
// 128: by torch
// tensor_made:      [site] address of the TensorImpl (zigzag difference to the address before)
// tensor_released:  order less serial, flag 128: nothing more is known; else aux (dtype; device with flag 64), number
// of
//                   sizes, sizes, storage's pointer (zigzag difference to the pointer before), storage's bytes (0: as
//                   many as the sizes say)
// tensor_seen:      what a living tensor is: order less serial, the fields of tensor_released, then TensorFlag bits,
//                   TensorKnown bits, offset in the storage; flag 128: behind the sizes come the strides, which are
//                   else the usual ones
// device_reported:  [aux] allocated reserved
// step:             number pass mode
// failure:          [aux] bytes that the failed call requested
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope::format {

enum class EventType : uint8_t {
  allocated = 0,
  freed = 1,
  tensor_made = 2,
  tensor_released = 3,
  tensor_seen = 4,
  tensor_gone = 5,
  disregarded = 6,
  device_reported = 7,
  step = 8,
  failure = 9,
  runtime_allocated = 10,
  runtime_freed = 11,
};

inline constexpr size_t kMaxEventSizes = 12;

struct RecordedEvent {
  EventType type = EventType::step;
  bool known = false;         // tensor_released: the fields after it
  bool with_strides = false;  // tensor_seen: behind the sizes
  bool by_torch = false;      // runtime_allocated: by torch's allocator
  uint8_t memory_kind = 0;    // allocated: AllocationKind; runtime_allocated: RuntimeKind
  int8_t device_type = 0, device_index = -1;
  int8_t dtype = -1;
  uint8_t mode = 0;  // step: StepMode
  uint32_t thread = 0, site = 0;
  uint64_t order = 0, ns = 0, serial = 0;
  uint64_t pointer = 0;  // allocated; tensor_made: the TensorImpl; tensor_released, tensor_seen: of the storage's data
  uint64_t nbytes = 0;   // allocated, failure; tensor_released, tensor_seen: of the storage
  uint64_t node = 0;     // allocated: serial
  uint64_t number = 0;   // step; device_reported: allocated
  uint64_t pass = 0;     // step; device_reported: reserved
  uint32_t tensor_flags = 0, tensor_known = 0;  // tensor_seen: TensorFlag and TensorKnown bits (dump.fbs)
  int64_t offset = 0;                           // tensor_seen: in the storage, in elements
  size_t ndim = 0;
  int64_t sizes[kMaxEventSizes] = {};

  size_t extents() const { return with_strides ? 2 * ndim : ndim; }

  bool makes() const {
    return type == EventType::allocated || type == EventType::tensor_made || type == EventType::runtime_allocated;
  }
};

// Bytes of one element of a c10::ScalarType, as the caller knows them; 0: not known.
using ElementSize = int (*)(int dtype);

namespace event_detail {

inline constexpr uint8_t kOtherThread = 16, kOtherSite = 32, kOtherMemory = 64, kSpecial = 128;

inline uint64_t zigzag(uint64_t difference) { return difference << 1 ^ uint64_t(int64_t(difference) >> 63); }
inline uint64_t unzigzag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

// What the event before left behind.
struct State {
  uint64_t order = 0, ns = 0, pointer = 0, object = 0, block = 0;
  uint32_t thread = 0, site = 0, memory = 0, tensor_memory = 0;
};

inline uint32_t memory_word(const RecordedEvent& e) {
  return uint32_t(e.memory_kind) | uint32_t(uint8_t(e.device_type)) << 8 | uint32_t(uint8_t(e.device_index)) << 16;
}
inline void set_memory(uint32_t word, RecordedEvent& e) {
  e.memory_kind = uint8_t(word);
  e.device_type = int8_t(word >> 8);
  e.device_index = int8_t(word >> 16);
}

// Of a dense tensor; 0: not known.
inline uint64_t dense_bytes(const RecordedEvent& e, ElementSize element_size) {
  uint64_t bytes = uint64_t(element_size(e.dtype));
  for (size_t i = 0; i < e.ndim; ++i) {
    if (__builtin_mul_overflow(bytes, uint64_t(e.sizes[i]), &bytes)) return 0;
  }
  return bytes;
}

}  // namespace event_detail

// The most bytes that one event takes.
inline constexpr size_t kMaxEventBytes = 1 + 10 * (11 + kMaxEventSizes);

class EventEncoder {
 public:
  EventEncoder(uint64_t begin_ns, ElementSize element_size) : element_size_(element_size) { state_.ns = begin_ns; }

  // Writes the event at `out`, which has room for kMaxEventBytes. Returns the end.
  uint8_t* encode(const RecordedEvent& e, uint8_t* out) {
    using namespace event_detail;
    uint8_t* const head = out++;
    *head = uint8_t(e.type);
    out = put(out, zigzag(e.order - state_.order));
    out = put(out, zigzag(e.ns - state_.ns));
    state_.order = e.order;
    state_.ns = e.ns;
    out = put_changed(out, head, kOtherThread, e.thread, state_.thread);
    switch (e.type) {
      case EventType::allocated: {
        out = put_changed(out, head, kOtherSite, e.site, state_.site);
        out = put_changed(out, head, kOtherMemory, memory_word(e), state_.memory);
        const uint64_t difference = e.pointer - state_.pointer;
        const bool whole = difference % 16 == 0;
        if (!whole) *head |= kSpecial;
        out = put(out, zigzag(whole ? uint64_t(int64_t(difference) / 16) : difference));
        state_.pointer = e.pointer;
        out = put(out, e.nbytes);
        return put(out, e.node == 0 ? 0 : e.order - e.node + 1);
      }
      case EventType::runtime_allocated:
        if (e.by_torch) *head |= kSpecial;
        out = put_changed(out, head, kOtherSite, e.site, state_.site);
        out = put_changed(out, head, kOtherMemory, memory_word(e), state_.memory);
        out = put(out, zigzag(e.pointer - state_.block));
        state_.block = e.pointer;
        return put(out, e.nbytes);
      case EventType::freed:
      case EventType::tensor_gone:
      case EventType::disregarded:
      case EventType::runtime_freed:
        return put(out, e.order - e.serial);
      case EventType::tensor_made:
        out = put_changed(out, head, kOtherSite, e.site, state_.site);
        out = put(out, zigzag(e.pointer - state_.object));
        state_.object = e.pointer;
        return out;
      case EventType::tensor_released:
        out = put(out, e.order - e.serial);
        if (!e.known) {
          *head |= kSpecial;
          return out;
        }
        return put_facts(out, head, e);
      case EventType::tensor_seen:
        if (e.with_strides) *head |= kSpecial;
        out = put(out, e.order - e.serial);
        out = put_facts(out, head, e);
        out = put(out, e.tensor_flags);
        out = put(out, e.tensor_known);
        return put(out, uint64_t(e.offset));
      case EventType::device_reported:
        out = put_changed(out, head, kOtherMemory, memory_word(e), state_.memory);
        out = put(out, e.number);
        return put(out, e.pass);
      case EventType::failure:
        out = put_changed(out, head, kOtherMemory, memory_word(e), state_.memory);
        return put(out, e.nbytes);
      case EventType::step:
        out = put(out, e.number);
        out = put(out, e.pass);
        *out++ = e.mode;
        return out;
    }
    return out;
  }

 private:
  static uint8_t* put(uint8_t* out, uint64_t value) {
    while (value >= 0x80) {
      *out++ = uint8_t(value) | 0x80;
      value >>= 7;
    }
    *out++ = uint8_t(value);
    return out;
  }
  static uint8_t* put_changed(uint8_t* out, uint8_t* head, uint8_t flag, uint32_t value, uint32_t& before) {
    if (value == before) return out;
    *head |= flag;
    before = value;
    return put(out, value);
  }

  uint8_t* put_facts(uint8_t* out, uint8_t* head, const RecordedEvent& e) {
    using namespace event_detail;
    out = put_changed(out, head, kOtherMemory, memory_word(e), state_.tensor_memory);
    *out++ = uint8_t(e.dtype);
    out = put(out, e.ndim);
    for (size_t i = 0; i < e.extents(); ++i) out = put(out, uint64_t(e.sizes[i]));
    out = put(out, zigzag(e.pointer - state_.pointer));
    state_.pointer = e.pointer;
    return put(out, e.nbytes == dense_bytes(e, element_size_) ? 0 : e.nbytes + 1);
  }

  ElementSize element_size_;
  event_detail::State state_;
};

class EventDecoder {
 public:
  EventDecoder(const uint8_t* data, size_t size, uint64_t begin_ns, ElementSize element_size)
      : at_(data), end_(data + size), element_size_(element_size) {
    state_.ns = begin_ns;
  }

  // False: the end, or what follows is no event (then damaged() is true).
  bool next(RecordedEvent& e) {
    using namespace event_detail;
    if (at_ == end_ || damaged_) return false;
    const uint8_t head = *at_++;
    e.type = EventType(head & 15);
    e.known = e.by_torch = e.with_strides = false;
    e.ndim = 0;
    e.pointer = e.nbytes = e.node = 0;
    e.order = state_.order += unzigzag(take());
    e.ns = state_.ns += unzigzag(take());
    e.thread = take_changed(head, kOtherThread, state_.thread);
    e.serial = e.order;
    switch (e.type) {
      case EventType::allocated: {
        e.site = take_changed(head, kOtherSite, state_.site);
        set_memory(take_changed(head, kOtherMemory, state_.memory), e);
        const uint64_t difference = unzigzag(take());
        e.pointer = state_.pointer += (head & kSpecial) != 0 ? difference : difference * 16;
        e.nbytes = take();
        const uint64_t node = take();
        e.node = node == 0 ? 0 : e.order - (node - 1);
        break;
      }
      case EventType::runtime_allocated:
        e.by_torch = (head & kSpecial) != 0;
        e.site = take_changed(head, kOtherSite, state_.site);
        set_memory(take_changed(head, kOtherMemory, state_.memory), e);
        e.pointer = state_.block += unzigzag(take());
        e.nbytes = take();
        break;
      case EventType::freed:
      case EventType::tensor_gone:
      case EventType::disregarded:
      case EventType::runtime_freed:
        e.serial = e.order - take();
        break;
      case EventType::tensor_made:
        e.site = take_changed(head, kOtherSite, state_.site);
        e.pointer = state_.object += unzigzag(take());
        break;
      case EventType::tensor_released:
        e.serial = e.order - take();
        if ((head & kSpecial) == 0) take_facts(head, e);
        break;
      case EventType::tensor_seen:
        e.serial = e.order - take();
        e.with_strides = (head & kSpecial) != 0;
        take_facts(head, e);
        e.tensor_flags = uint32_t(take());
        e.tensor_known = uint32_t(take());
        e.offset = int64_t(take());
        break;
      case EventType::device_reported:
        set_memory(take_changed(head, kOtherMemory, state_.memory), e);
        e.number = take();
        e.pass = take();
        break;
      case EventType::failure:
        set_memory(take_changed(head, kOtherMemory, state_.memory), e);
        e.nbytes = take();
        break;
      case EventType::step:
        e.number = take();
        e.pass = take();
        e.mode = at_ < end_ ? *at_++ : uint8_t(0);
        break;
      default:
        damaged_ = true;
    }
    return !damaged_;
  }
  bool damaged() const { return damaged_; }

 private:
  uint64_t take() {
    uint64_t value = 0;
    for (unsigned shift = 0; at_ < end_ && shift < 64; shift += 7) {
      const uint8_t byte = *at_++;
      value |= uint64_t(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    damaged_ = true;
    return 0;
  }
  void take_facts(uint8_t head, RecordedEvent& e) {
    using namespace event_detail;
    e.known = true;
    set_memory(take_changed(head, kOtherMemory, state_.tensor_memory), e);
    e.dtype = at_ < end_ ? int8_t(*at_++) : int8_t(-1);
    e.ndim = size_t(take());
    if (e.ndim > kMaxEventSizes || e.extents() > kMaxEventSizes) {
      e.ndim = 0;
      damaged_ = true;
      return;
    }
    for (size_t i = 0; i < e.extents(); ++i) e.sizes[i] = int64_t(take());
    e.pointer = state_.pointer += unzigzag(take());
    const uint64_t nbytes = take();
    e.nbytes = nbytes == 0 ? dense_bytes(e, element_size_) : nbytes - 1;
  }
  uint32_t take_changed(uint8_t head, uint8_t flag, uint32_t& before) {
    if ((head & flag) != 0) before = uint32_t(take());
    return before;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  ElementSize element_size_;
  event_detail::State state_;
  bool damaged_ = false;
};

}  // namespace tensorscope::format
