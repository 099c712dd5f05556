// SPDX-License-Identifier: Apache-2.0
// What happens to the tables, event by event, for who records it (recording/). Nothing is kept while nobody asks.
//
// Events wait in lanes. A thread writes to a lane of its own, or where there are more threads than such lanes, under a
// lock to one that it shares. The reader takes no lock: an event is there once its block counts it. A lane grows by
// blocks up to a limit for all; what does not fit is counted. Order between lanes comes from Event::order.
//
// Context: hook; what reads, collector.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/ids.h"

namespace tensorscope::live {

enum class EventKind : uint8_t {
  allocated,          // pointer, bytes, autograd node; aux: kind, device
  freed,              //
  tensor_made,        //
  tensor_released,    // data pointer of the storage, its bytes, four sizes; aux: sizes, dtype, device
  tensor_extent,      // of the tensor_released or tensor_ended before it: up to three more sizes
  tensor_gone,        //
  disregarded,        // was no tensor to a user
  device_reported,    // allocated and reserved, as the device's allocator says; aux: device
  step,               // number, pass, mode
  failure,            // bytes that were asked for in vain; aux: device
  runtime_allocated,  // pointer, bytes; aux: kind, device, by_torch
  runtime_freed,      //
  tensor_ended,       // tensor_released and tensor_gone at once
};

struct Event {
  Serial order;   // the newest serial at that moment: what was made carries its own
  Serial serial;  // of what the event is about; 0: nothing
  uint64_t ticks;
  uint64_t a, b, c;
  uint32_t aux;
  SiteId site;
  uint32_t thread : 24;
  uint32_t kind : 8;
};
static_assert(sizeof(Event) == 64);

extern constinit std::atomic<bool> g_events_wanted;
inline bool events_wanted() { return __builtin_expect(g_events_wanted.load(std::memory_order_relaxed), false); }

// `count` events that stay together.
void note_events(const Event* events, size_t count);

struct EventBlock {
  static constexpr size_t kBytes = size_t{1} << 18;
  static constexpr size_t kEvents = kBytes / sizeof(Event) - 1;
  std::atomic<EventBlock*> next;  // set: `used` stays as it is
  std::atomic<size_t> used;
  alignas(64) Event events[kEvents];
};
static_assert(sizeof(EventBlock) == EventBlock::kBytes);

// `most_bytes` of memory for what waits; `wake`: called where much does.
void want_events(size_t most_bytes, void (*wake)());
void want_no_events();

inline constexpr unsigned kOwnEventLanes = 32, kSharedEventLanes = 8;
inline constexpr unsigned kEventLanes = kOwnEventLanes + kSharedEventLanes;

// What the lane holds at this moment.
struct EventsEnd {
  EventBlock* block = nullptr;
  size_t used = 0;
};
EventsEnd events_end(unsigned lane);
// The next events up to that end, as many as lie together; count 0: there are no more. The memory of those that it
// returned before may be used again.
struct EventSpan {
  const Event* first = nullptr;
  size_t count = 0;
};
EventSpan next_events(unsigned lane, const EventsEnd& end);
// Events that did not fit, so far.
uint64_t lost_events();

}  // namespace tensorscope::live
