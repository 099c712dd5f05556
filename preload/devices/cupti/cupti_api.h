// SPDX-License-Identifier: Apache-2.0
// What is used of CUPTI, declared here: nothing is linked, and no header of NVIDIA's is needed to build.
//
// Source: cupti_activity.h, cupti_callbacks.h, cupti_result.h of CUDA 12.4 (CUPTI 22) and 13.0 (130001). A kind's
// record grows at its end from version to version (CUpti_ActivityMemory3 has 120 bytes, CUpti_ActivityMemory4 128;
// Kernel9 208, Kernel10 216; Memcpy5 88, Memcpy6 96), what stands below has been where it is, so that one binary reads
// both. Where NVIDIA's headers are found at build time, tests/unit/preload/devices/cupti/headers_test.cc compares every
// offset and number with them.
//
// Context: any: declarations alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope::cupti {

using Result = int;  // CUptiResult; 0 is success
inline constexpr Result kMultipleSubscribers = 39;

using Kind = uint32_t;  // CUpti_ActivityKind
inline constexpr Kind kMemcpy = 1, kMemset = 2, kKernel = 3, kConcurrentKernel = 10, kPeerMemcpy = 22, kMemory = 49;

enum class Domain : uint32_t { driver = 1, runtime = 2 };  // CUpti_CallbackDomain
inline constexpr uint32_t kFlushForced = 1;                // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

// CUpti_ActivityMemory3 and 4, kind MEMORY2: one record for an allocation, one for its release.
struct MemoryRecord {
  uint32_t kind;
  uint32_t operation;    // CUpti_ActivityMemoryOperationType
  uint32_t memory_kind;  // CUpti_ActivityMemoryKind
  uint32_t correlation;
  uint64_t address;
  uint64_t bytes;
  uint64_t timestamp;
  uint64_t program_counter;
  uint32_t process;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  const char* name;  // of static memory
  uint32_t is_async;
};
inline constexpr uint32_t kAllocation = 1, kRelease = 2;

// CUpti_ActivityKernel9 and 10, kinds KERNEL and CONCURRENT_KERNEL.
struct KernelRecord {
  uint32_t kind;
  uint32_t caches[3];
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t shape[10];  // grid, block, shared and local memory
  uint32_t correlation;
};

// CUpti_ActivityMemcpy5 and 6.
struct MemcpyRecord {
  uint32_t kind;
  uint8_t copy_kind;  // CUpti_ActivityMemcpyKind
  uint8_t rest[3];
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
};
inline constexpr uint8_t kHostToDevice = 1, kDeviceToHost = 2;

// CUpti_ActivityMemcpyPtoP4, kind MEMCPY2.
struct PeerMemcpyRecord {
  uint32_t kind;
  uint32_t kinds;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t devices_and_contexts[6];
  uint32_t stream_and_more;
  uint32_t correlation;
};

// CUpti_ActivityMemset4.
struct MemsetRecord {
  uint32_t kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
};

// CUpti_CallbackData.
struct CallData {
  uint32_t site;  // 0: the call begins, 1: it ends
  const char* function;
  const void* parameters;
  void* returned;
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* own_data;
  uint32_t correlation;
};
inline constexpr uint32_t kBegins = 0;

struct Subscriber;
using OnCall = void (*)(void* user, Domain domain, uint32_t call, const CallData* data);
using OnBufferRequest = void (*)(uint8_t** buffer, size_t* size, size_t* most_records);
using OnBufferComplete = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid_size);

// The functions that are called, by the end of their names: cupti<Subscribe>.
struct Functions {
  Result (*Subscribe)(Subscriber** subscriber, OnCall function, void* user);
  Result (*Unsubscribe)(Subscriber* subscriber);
  Result (*EnableCallback)(uint32_t on, Subscriber* subscriber, Domain domain, uint32_t call);
  Result (*ActivityRegisterCallbacks)(OnBufferRequest request, OnBufferComplete complete);
  Result (*ActivityEnable)(Kind kind);
  Result (*ActivityDisable)(Kind kind);
  Result (*ActivityFlushAll)(uint32_t flags);
  Result (*ActivityGetNextRecord)(uint8_t* buffer, size_t valid_size, const uint8_t** record);
  Result (*ActivityGetNumDroppedRecords)(void* context, uint32_t stream, size_t* dropped);
  Result (*GetTimestamp)(uint64_t* ns);
  Result (*GetVersion)(uint32_t* version);
  Result (*GetResultString)(Result result, const char** text);
};
#define TENSORSCOPE_CUPTI_FUNCTIONS(X) \
  X(Subscribe)                         \
  X(Unsubscribe)                       \
  X(EnableCallback)                    \
  X(ActivityRegisterCallbacks)         \
  X(ActivityEnable)                    \
  X(ActivityDisable)                   \
  X(ActivityFlushAll)                  \
  X(ActivityGetNextRecord)             \
  X(ActivityGetNumDroppedRecords)      \
  X(GetTimestamp)                      \
  X(GetVersion)                        \
  X(GetResultString)

}  // namespace tensorscope::cupti
