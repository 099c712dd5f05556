// SPDX-License-Identifier: Apache-2.0
// The CUDA calls at whose begin the place in the program is noted: those that lead to a record. Numbers of
// cupti_runtime_cbid.h and cupti_driver_cbid.h (CUDA 12.4 and 13.0); a number stays a function's for ever, and a
// library that does not know one refuses it alone. _ptsz and _ptds: the same function of the per-thread default stream.
//
// Context: any: constants.
#pragma once

#include <cstdint>

#include "devices/cupti/cupti_api.h"

namespace tensorscope::cupti {

struct CallRange {
  Domain domain;
  uint16_t first, last;
};

inline constexpr CallRange kMemoryCalls[] = {
    {Domain::runtime, 20, 21},    // cudaMalloc, cudaMallocPitch
    {Domain::runtime, 23, 23},    // cudaMallocArray
    {Domain::runtime, 25, 25},    // cudaMallocHost
    {Domain::runtime, 27, 27},    // cudaHostAlloc
    {Domain::runtime, 140, 141},  // cudaMalloc3D, cudaMalloc3DArray
    {Domain::runtime, 152, 152},  // cudaHostRegister
    {Domain::runtime, 192, 192},  // cudaMallocMipmappedArray
    {Domain::runtime, 206, 206},  // cudaMallocManaged
    {Domain::runtime, 373, 374},  // cudaMallocAsync
    {Domain::runtime, 391, 392},  // cudaMallocFromPoolAsync
    {Domain::driver, 243, 244},   // cuMemAlloc_v2, cuMemAllocPitch_v2
    {Domain::driver, 271, 271},   // cuMemHostAlloc_v2
    {Domain::driver, 294, 294},   // cuMemAllocHost_v2
    {Domain::driver, 301, 301},   // cuMemHostRegister
    {Domain::driver, 371, 371},   // cuMemAllocManaged
    {Domain::driver, 379, 379},   // cuMemHostRegister_v2
    {Domain::driver, 598, 599},   // cuMemAllocAsync
    {Domain::driver, 611, 612},   // cuMemAllocFromPoolAsync
};

// virtual_memory.h reads their parameters.
inline constexpr CallRange kVirtualCalls[] = {
    {Domain::driver, 549, 552},  // cuMemCreate, cuMemRelease, cuMemMap, cuMemUnmap
    {Domain::driver, 565, 565},  // cuMemRetainAllocationHandle
};

inline constexpr CallRange kActivityCalls[] = {
    {Domain::runtime, 211, 211},  // cudaLaunchKernel
    {Domain::runtime, 214, 214},  // cudaLaunchKernel_ptsz
    {Domain::runtime, 269, 270},  // cudaLaunchCooperativeKernel
    {Domain::runtime, 272, 272},  // cudaLaunchCooperativeKernelMultiDevice
    {Domain::runtime, 311, 312},  // cudaGraphLaunch
    {Domain::runtime, 430, 431},  // cudaLaunchKernelExC
    {Domain::runtime, 505, 506},  // __cudaLaunchKernel, from 13.0
    {Domain::driver, 307, 307},   // cuLaunchKernel
    {Domain::driver, 442, 442},   // cuLaunchKernel_ptsz
    {Domain::driver, 477, 478},   // cuLaunchCooperativeKernel
    {Domain::driver, 480, 480},   // cuLaunchCooperativeKernelMultiDevice
    {Domain::driver, 514, 515},   // cuGraphLaunch
    {Domain::driver, 652, 653},   // cuLaunchKernelEx
    {Domain::runtime, 31, 52},    // cudaMemcpy* and cudaMemset*
    {Domain::runtime, 142, 145},  // cudaMemset3D, cudaMemcpy3D
    {Domain::runtime, 160, 163},  // cudaMemcpyPeer, cudaMemcpy3DPeer
    {Domain::runtime, 215, 236},  // the same of the per-thread default stream
    {Domain::runtime, 243, 246},  //
    {Domain::runtime, 249, 250},  //
    {Domain::runtime, 482, 485},  // cudaMemcpyBatchAsync, cudaMemcpy3DBatchAsync of 12.8
    {Domain::runtime, 509, 512},  // of 13.0
    {Domain::driver, 216, 216},   // cuMemsetD8Async
    {Domain::driver, 218, 218},   // cuMemsetD16Async
    {Domain::driver, 220, 220},   // cuMemsetD32Async
    {Domain::driver, 222, 222},   // cuMemsetD2D8Async
    {Domain::driver, 224, 224},   // cuMemsetD2D16Async
    {Domain::driver, 226, 226},   // cuMemsetD2D32Async
    {Domain::driver, 249, 254},   // cuMemsetD*_v2
    {Domain::driver, 276, 293},   // cuMemcpy*_v2
    {Domain::driver, 305, 306},   // cuMemcpy, cuMemcpyAsync
    {Domain::driver, 318, 321},   // cuMemcpyPeer, cuMemcpy3DPeer
    {Domain::driver, 397, 416},   // the same of the per-thread default stream
    {Domain::driver, 418, 433},   //
    {Domain::driver, 776, 779},   // cuMemcpyBatchAsync, cuMemcpy3DBatchAsync of 12.8
    {Domain::driver, 796, 799},   // of 13.0
};

}  // namespace tensorscope::cupti
