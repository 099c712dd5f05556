// SPDX-License-Identifier: Apache-2.0
// Streams, events and graphs of the runtime. Everything that is put on a stream is done at once, so waiting and asking
// answer "ready". Capture is of one stream and records nothing: a replay does nothing. Signatures:
// cuda_runtime_api.h, 12.4 and 13.0.
#include <atomic>
#include <cstdlib>

#include "fake_device.h"
#include "runtime_error.h"

namespace fake_cuda {

namespace {

struct Stream {
  int priority = 0;
  std::atomic<unsigned long long> capture{0};  // number of the capture, 0: none
};

std::atomic<unsigned long long> g_captures{0};
Stream g_default_stream;

// cudaStreamLegacy and cudaStreamPerThread are the numbers 1 and 2 (driver_types.h); null is the default stream too.
Stream& stream_of(void* handle) {
  return reinterpret_cast<uintptr_t>(handle) <= 2 ? g_default_stream : *static_cast<Stream*>(handle);
}

int make_stream(void** handle, int priority) {
  auto* stream = new Stream;
  stream->priority = priority;
  *handle = stream;
  return success;
}

// An event, a graph, a graph made ready: only the address counts.
int make_handle(void** handle) {
  *handle = calloc(1, 64);
  return success;
}
int drop_handle(void* handle) {
  free(handle);
  return success;
}

int capture_info(void* stream, int* status, unsigned long long* id, void** graph) {
  const unsigned long long capture = stream_of(stream).capture;
  *status = capture != 0;  // cudaStreamCaptureStatusActive
  if (id) *id = capture;
  if (graph) *graph = nullptr;
  return success;
}

}  // namespace

FAKE_CUDA_API int cudaStreamCreate(void** stream) { return make_stream(stream, 0); }
FAKE_CUDA_API int cudaStreamCreateWithFlags(void** stream, unsigned) { return make_stream(stream, 0); }
FAKE_CUDA_API int cudaStreamCreateWithPriority(void** stream, unsigned, int priority) {
  return make_stream(stream, priority);
}
FAKE_CUDA_API int cudaStreamDestroy(void* stream) {
  if (&stream_of(stream) != &g_default_stream) delete static_cast<Stream*>(stream);
  return success;
}
FAKE_CUDA_API int cudaStreamGetPriority(void* stream, int* priority) {
  *priority = stream_of(stream).priority;
  return success;
}
FAKE_CUDA_API int cudaStreamQuery(void*) { return success; }
FAKE_CUDA_API int cudaStreamSynchronize(void*) { return success; }
FAKE_CUDA_API int cudaStreamWaitEvent(void*, void*, unsigned) { return success; }
FAKE_CUDA_API int cudaDeviceSynchronize() { return success; }
FAKE_CUDA_API int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data, unsigned) {
  function(stream, success, data);
  return success;
}
FAKE_CUDA_API int cudaLaunchHostFunc(void*, void (*function)(void*), void* data) {
  function(data);
  return success;
}

FAKE_CUDA_API int cudaEventCreate(void** event) { return make_handle(event); }
FAKE_CUDA_API int cudaEventCreateWithFlags(void** event, unsigned) { return make_handle(event); }
FAKE_CUDA_API int cudaEventDestroy(void* event) { return drop_handle(event); }
FAKE_CUDA_API int cudaEventRecord(void*, void*) { return success; }
FAKE_CUDA_API int cudaEventRecordWithFlags(void*, void*, unsigned) { return success; }
FAKE_CUDA_API int cudaEventQuery(void*) { return success; }
FAKE_CUDA_API int cudaEventSynchronize(void*) { return success; }
FAKE_CUDA_API int cudaEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 1;
  return success;
}

FAKE_CUDA_API int cudaThreadExchangeStreamCaptureMode(int*) { return success; }
FAKE_CUDA_API int cudaStreamIsCapturing(void* stream, int* status) {
  return capture_info(stream, status, nullptr, nullptr);
}
// CUDA 13: with the edges' data.
FAKE_CUDA_API int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id, void** graph,
                                           const void*** dependencies, const void** edges, size_t* count) {
  if (dependencies) *dependencies = nullptr;
  if (edges) *edges = nullptr;
  if (count) *count = 0;
  return capture_info(stream, status, id, graph);
}
FAKE_CUDA_API int cudaStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph,
                                              const void*** dependencies, size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}
FAKE_CUDA_API int cudaStreamBeginCapture(void* stream, int) {
  stream_of(stream).capture = ++g_captures;
  return success;
}
FAKE_CUDA_API int cudaStreamEndCapture(void* stream, void** graph) {
  stream_of(stream).capture = 0;
  return make_handle(graph);
}
FAKE_CUDA_API int cudaGraphGetNodes(void*, void**, size_t* count) {
  *count = 1;  // torch warns of an empty graph
  return success;
}
FAKE_CUDA_API int cudaGraphInstantiate(void** ready, void*, unsigned long long) { return make_handle(ready); }
FAKE_CUDA_API int cudaGraphInstantiateWithFlags(void** ready, void*, unsigned long long) { return make_handle(ready); }
FAKE_CUDA_API int cudaGraphLaunch(void*, void*) { return success; }
FAKE_CUDA_API int cudaGraphDestroy(void* graph) { return drop_handle(graph); }
FAKE_CUDA_API int cudaGraphExecDestroy(void* ready) { return drop_handle(ready); }

}  // namespace fake_cuda
