// SPDX-License-Identifier: Apache-2.0
#include "devices/cupti/records.h"

#include <string.h>

#include <atomic>

#include "devices/cupti/launch_counts.h"
#include "devices/cupti/launch_sites.h"
#include "devices/cupti/memory_activity.h"
#include "devices/cupti/virtual_memory.h"
#include "support/coverage.h"
#include "support/locks/spin_lock.h"
#include "support/pages.h"
#include "support/state.h"

namespace tensorscope::cupti {

namespace {

struct Buffer {
  SpinLock lent;                         // only ever tried
  std::atomic<uint8_t*> bytes{nullptr};  // mapped by the first thread that has `lent`
};
Buffer g_buffers[kBuffers];
Functions g_record_functions;

template <typename Record>
Record as(const uint8_t* bytes) {
  Record record;
  memcpy(&record, bytes, sizeof record);
  return record;
}

// 0 where the work had not ended when the record was delivered.
uint64_t time_of(uint64_t start, uint64_t end) { return end > start ? end - start : 0; }

void read_memory(const MemoryRecord& record) {
  if (record.operation != kAllocation && record.operation != kRelease) return;
  const SiteId site = g_launch_sites.find(record.correlation);
  if (site == kKnownFromTheCall) return;
  MemoryEvent event;
  event.address = record.address;
  event.nbytes = record.bytes;
  event.at_ns = record.timestamp;
  event.context = record.context;
  event.stream = record.stream;
  event.process = record.process;
  event.correlation = record.correlation;
  event.site = site;
  event.kind = uint8_t(record.memory_kind);
  event.device = int8_t(record.device);
  event.asynchronous = record.is_async != 0;
  event.state = record.operation == kAllocation ? MemoryState::live : MemoryState::released;
  g_memory.record(event);
}

void count_kernel(const KernelRecord& record) {
  LaunchCounts one;
  one.kernels = 1;
  one.kernel_ns = time_of(record.start, record.end);
  g_launches.count(g_launch_sites.find(record.correlation), one);
}

void count_copy(uint32_t correlation, uint8_t kind, uint64_t nbytes, uint64_t ns) {
  LaunchCounts one;
  one.copies = 1;
  one.copied_bytes = nbytes;
  one.copy_ns = ns;
  if (kind == kHostToDevice) one.to_device_bytes = nbytes;
  if (kind == kDeviceToHost) one.to_host_bytes = nbytes;
  g_launches.count(g_launch_sites.find(correlation), one);
}

void count_fill(const MemsetRecord& record) {
  LaunchCounts one;
  one.fills = 1;
  one.filled_bytes = record.bytes;
  one.fill_ns = time_of(record.start, record.end);
  g_launches.count(g_launch_sites.find(record.correlation), one);
}

}  // namespace

void set_record_functions(const Functions& functions) { g_record_functions = functions; }

void read_record(const uint8_t* record) {
  switch (as<Kind>(record)) {
    case kMemory:
      return read_memory(as<MemoryRecord>(record));
    case kKernel:
    case kConcurrentKernel:
      return count_kernel(as<KernelRecord>(record));
    case kMemcpy: {
      const auto copy = as<MemcpyRecord>(record);
      return count_copy(copy.correlation, copy.copy_kind, copy.bytes, time_of(copy.start, copy.end));
    }
    case kPeerMemcpy: {
      const auto copy = as<PeerMemcpyRecord>(record);
      return count_copy(copy.correlation, 0, copy.bytes, time_of(copy.start, copy.end));
    }
    case kMemset:
      return count_fill(as<MemsetRecord>(record));
    default:
      return;
  }
}

// A buffer is lent from here to on_buffer_complete().
void on_buffer_request(uint8_t** buffer, size_t* size, size_t* most_records) NO_THREAD_SAFETY_ANALYSIS {
  InsideScope inside;
  *buffer = nullptr;
  *size = 0;
  *most_records = 0;
  for (Buffer& free : g_buffers) {
    if (!free.lent.try_lock()) continue;
    uint8_t* bytes = free.bytes.load(std::memory_order_relaxed);
    if (bytes == nullptr) {
      bytes = static_cast<uint8_t*>(map_pages(kBufferBytes));
      free.bytes.store(bytes, std::memory_order_relaxed);
    }
    if (bytes == nullptr) return free.lent.unlock();
    *buffer = bytes;
    *size = kBufferBytes;
    return;
  }
}

void on_buffer_complete(void* context, uint32_t stream, uint8_t* buffer, size_t,
                        size_t valid_size) NO_THREAD_SAFETY_ANALYSIS {
  InsideScope inside;
  const uint8_t* record = nullptr;
  while (valid_size != 0 && g_record_functions.ActivityGetNextRecord(buffer, valid_size, &record) == 0)
    read_record(record);
  size_t dropped = 0;
  if (g_record_functions.ActivityGetNumDroppedRecords(context, stream, &dropped) == 0 && dropped != 0) {
    count_missed(Subject::driver_memory, dropped);
  }
  for (Buffer& lent : g_buffers) {
    if (lent.bytes.load(std::memory_order_relaxed) == buffer) lent.lent.unlock();
  }
}

}  // namespace tensorscope::cupti
