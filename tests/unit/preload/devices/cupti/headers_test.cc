// SPDX-License-Identifier: Apache-2.0
// cupti_api.h against NVIDIA's own headers, at compile time.
#include <cupti.h>
#include <gtest/gtest.h>

#include "devices/cupti/call_ids.h"
#include "devices/cupti/cupti_api.h"
#include "devices/cupti/virtual_memory.h"

namespace tensorscope::cupti {
namespace {

#if CUPTI_API_VERSION >= 130000
using TheirMemory = CUpti_ActivityMemory4;
using TheirKernel = CUpti_ActivityKernel10;
using TheirMemcpy = CUpti_ActivityMemcpy6;
#else
using TheirMemory = CUpti_ActivityMemory3;
using TheirKernel = CUpti_ActivityKernel9;
using TheirMemcpy = CUpti_ActivityMemcpy5;
#endif
using TheirPeerMemcpy = CUpti_ActivityMemcpyPtoP4;
using TheirMemset = CUpti_ActivityMemset4;

#define SAME(ours, field, theirs, their_field)                            \
  static_assert(offsetof(ours, field) == offsetof(theirs, their_field) && \
                sizeof(ours::field) == sizeof(theirs::their_field))

SAME(MemoryRecord, kind, TheirMemory, kind);
SAME(MemoryRecord, operation, TheirMemory, memoryOperationType);
SAME(MemoryRecord, memory_kind, TheirMemory, memoryKind);
SAME(MemoryRecord, correlation, TheirMemory, correlationId);
SAME(MemoryRecord, address, TheirMemory, address);
SAME(MemoryRecord, bytes, TheirMemory, bytes);
SAME(MemoryRecord, timestamp, TheirMemory, timestamp);
SAME(MemoryRecord, process, TheirMemory, processId);
SAME(MemoryRecord, device, TheirMemory, deviceId);
SAME(MemoryRecord, context, TheirMemory, contextId);
SAME(MemoryRecord, stream, TheirMemory, streamId);
SAME(MemoryRecord, is_async, TheirMemory, isAsync);
static_assert(sizeof(MemoryRecord) <= sizeof(TheirMemory));

SAME(KernelRecord, start, TheirKernel, start);
SAME(KernelRecord, end, TheirKernel, end);
SAME(KernelRecord, correlation, TheirKernel, correlationId);
static_assert(sizeof(KernelRecord) <= sizeof(TheirKernel));

SAME(MemcpyRecord, copy_kind, TheirMemcpy, copyKind);
SAME(MemcpyRecord, bytes, TheirMemcpy, bytes);
SAME(MemcpyRecord, start, TheirMemcpy, start);
SAME(MemcpyRecord, end, TheirMemcpy, end);
SAME(MemcpyRecord, correlation, TheirMemcpy, correlationId);

SAME(PeerMemcpyRecord, bytes, TheirPeerMemcpy, bytes);
SAME(PeerMemcpyRecord, start, TheirPeerMemcpy, start);
SAME(PeerMemcpyRecord, end, TheirPeerMemcpy, end);
SAME(PeerMemcpyRecord, correlation, TheirPeerMemcpy, correlationId);

SAME(MemsetRecord, bytes, TheirMemset, bytes);
SAME(MemsetRecord, start, TheirMemset, start);
SAME(MemsetRecord, end, TheirMemset, end);
SAME(MemsetRecord, correlation, TheirMemset, correlationId);

SAME(CallData, site, CUpti_CallbackData, callbackSite);
SAME(CallData, context_id, CUpti_CallbackData, contextUid);
SAME(CallData, correlation, CUpti_CallbackData, correlationId);

static_assert(kMemcpy == CUPTI_ACTIVITY_KIND_MEMCPY && kMemset == CUPTI_ACTIVITY_KIND_MEMSET);
static_assert(kKernel == CUPTI_ACTIVITY_KIND_KERNEL && kConcurrentKernel == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(kPeerMemcpy == CUPTI_ACTIVITY_KIND_MEMCPY2 && kMemory == CUPTI_ACTIVITY_KIND_MEMORY2);
static_assert(kAllocation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
static_assert(kRelease == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
static_assert(kHostToDevice == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD && kDeviceToHost == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
static_assert(kMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(uint32_t(Domain::driver) == CUPTI_CB_DOMAIN_DRIVER_API);
static_assert(uint32_t(Domain::runtime) == CUPTI_CB_DOMAIN_RUNTIME_API);
static_assert(kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED && kBegins == CUPTI_API_ENTER);

static_assert(uint32_t(VirtualCall::create) == CUPTI_DRIVER_TRACE_CBID_cuMemCreate);
static_assert(uint32_t(VirtualCall::release) == CUPTI_DRIVER_TRACE_CBID_cuMemRelease);
static_assert(uint32_t(VirtualCall::map) == CUPTI_DRIVER_TRACE_CBID_cuMemMap);
static_assert(uint32_t(VirtualCall::unmap) == CUPTI_DRIVER_TRACE_CBID_cuMemUnmap);
static_assert(uint32_t(VirtualCall::retain) == CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle);

bool has(const CallRange& range, Domain domain, uint32_t call) {
  return range.domain == domain && range.first <= call && call <= range.last;
}
template <size_t count>
bool has(const CallRange (&ranges)[count], Domain domain, uint32_t call) {
  for (const CallRange& range : ranges) {
    if (has(range, domain, call)) return true;
  }
  return false;
}

TEST(Headers, TheCallsAreThoseThatAreMeant) {
  for (const uint32_t call :
       {CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000, CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020,
        CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_ptsz_v11020}) {
    EXPECT_TRUE(has(kMemoryCalls, Domain::runtime, call)) << call;
  }
  for (const uint32_t call : {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2,
                              CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync}) {
    EXPECT_TRUE(has(kMemoryCalls, Domain::driver, call)) << call;
  }
  for (const uint32_t call :
       {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
        CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaMemset2DAsync_ptsz_v7000}) {
    EXPECT_TRUE(has(kActivityCalls, Domain::runtime, call)) << call;
  }
  for (const uint32_t call : {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                              CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async}) {
    EXPECT_TRUE(has(kActivityCalls, Domain::driver, call)) << call;
  }
  // Calls beside them that are often made and lead to no record.
  for (const uint32_t call : {CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020,
                              CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020}) {
    EXPECT_FALSE(has(kMemoryCalls, Domain::runtime, call) || has(kActivityCalls, Domain::runtime, call)) << call;
  }
}

}  // namespace
}  // namespace tensorscope::cupti
