// SPDX-License-Identifier: Apache-2.0
// Every name that libtensorscope.so exports, in lists that nothing else repeats: declarations, the look-up of the real
// functions, the start-up self-check, the linker's version script and the test of the exported symbols all come from
// here. Adding a hook is one line here and its few lines in the file of its subject. Macros only: the version script is
// made from this file by the preprocessor.
//
// X(id, symbol, library, subject, event, why)
//   id       the hook function is hook_<id>, its enumerator Hook::id
//   symbol   mangled name, as nm -D prints it
//   library  begin of the file name of the library that defines it
//   subject  of the coverage record
//   event    hooks of one event are alternatives: spellings of different torch versions, or constructors and
//   destructors
//            for complete object (1) and base (2). The event is seen where at least one of them is there.
//
// Sources: the declarations of torch 1.13, 2.6 and 2.14 and the symbol tables of the wheels. c10::optional became
// std::optional between 2.2 and 2.3, so names with a Device in an optional have two spellings.
#pragma once

// After the real constructor. Overloads: (storage, keys, dtype); the view; (keys, dtype, device); (storage, keys,
// dtype, device), to which all but the view delegate.
#define TENSORSCOPE_TENSOR_CONSTRUCTORS_WITH_STORAGE(X)                                                             \
  X(tensor_with_storage_c1, _ZN3c1010TensorImplC1EONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaE, "libc10.so", \
    tensors, tensor_made_with_storage, "tensors with a storage")                                                    \
  X(tensor_with_storage_c2, _ZN3c1010TensorImplC2EONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaE, "libc10.so", \
    tensors, tensor_made_with_storage, "subclasses with a storage")

#define TENSORSCOPE_OTHER_TENSOR_CONSTRUCTORS(X)                                                                       \
  X(tensor_view_c1, _ZN3c1010TensorImplC1ENS0_8ImplTypeEONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaE,           \
    "libc10.so", tensors, tensor_made_as_view, "views; delegates to no other")                                         \
  X(tensor_view_c2, _ZN3c1010TensorImplC2ENS0_8ImplTypeEONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaE,           \
    "libc10.so", tensors, tensor_made_as_view, "views of subclasses")                                                  \
  X(tensor_bare_c1, _ZN3c1010TensorImplC1ENS_14DispatchKeySetEN6caffe28TypeMetaESt8optionalINS_6DeviceEE, "libc10.so", \
    tensors, tensor_made_bare, "tensors without storage, detached copies")                                             \
  X(tensor_bare_c2, _ZN3c1010TensorImplC2ENS_14DispatchKeySetEN6caffe28TypeMetaESt8optionalINS_6DeviceEE, "libc10.so", \
    tensors, tensor_made_bare, "sparse, nested and other subclasses")                                                  \
  X(tensor_bare_old_c1, _ZN3c1010TensorImplC1ENS_14DispatchKeySetEN6caffe28TypeMetaENS_8optionalINS_6DeviceEEE,        \
    "libc10.so", tensors, tensor_made_bare, "the same up to torch 2.2")                                                \
  X(tensor_bare_old_c2, _ZN3c1010TensorImplC2ENS_14DispatchKeySetEN6caffe28TypeMetaENS_8optionalINS_6DeviceEEE,        \
    "libc10.so", tensors, tensor_made_bare, "the same up to torch 2.2")                                                \
  X(tensor_full_c1, _ZN3c1010TensorImplC1EONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaESt8optionalINS_6DeviceEE, \
    "libc10.so", tensors, tensor_made_in_full, "where the others delegate to")                                         \
  X(tensor_full_c2, _ZN3c1010TensorImplC2EONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaESt8optionalINS_6DeviceEE, \
    "libc10.so", tensors, tensor_made_in_full, "where the others delegate to")                                         \
  X(tensor_full_old_c1,                                                                                                \
    _ZN3c1010TensorImplC1EONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaENS_8optionalINS_6DeviceEEE, "libc10.so",  \
    tensors, tensor_made_in_full, "the same up to torch 2.2")                                                          \
  X(tensor_full_old_c2,                                                                                                \
    _ZN3c1010TensorImplC2EONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaENS_8optionalINS_6DeviceEEE, "libc10.so",  \
    tensors, tensor_made_in_full, "the same up to torch 2.2")

// Before the real destructor, or another thread may get the same address first.
#define TENSORSCOPE_TENSOR_DELETION(X)                                                    \
  X(tensor_destroyed_d0, _ZN3c1010TensorImplD0Ev, "libc10.so", tensors, tensor_destroyed, \
    "deletion of a plain one; calls D1")
#define TENSORSCOPE_TENSOR_DESTRUCTORS(X)                                                                         \
  X(tensor_destroyed_d1, _ZN3c1010TensorImplD1Ev, "libc10.so", tensors, tensor_destroyed, "destruction in place") \
  X(tensor_destroyed_d2, _ZN3c1010TensorImplD2Ev, "libc10.so", tensors, tensor_destroyed, "the base of a subclass")

#define TENSORSCOPE_TENSOR_RELEASES(X)                                                                \
  X(tensor_released, _ZN3c1010TensorImpl17release_resourcesEv, "libc10.so", tensors, tensor_released, \
    "only weak references are left: the storage goes, the object stays")

#define TENSORSCOPE_CPU_ALLOCATOR_HOOKS(X)                                                                      \
  X(alloc_cpu, _ZN3c109alloc_cpuEm, "libc10.so", cpu_memory, cpu_allocated, "exact sizes of the CPU allocator") \
  X(free_cpu, _ZN3c108free_cpuEPv, "libc10.so", cpu_memory, cpu_freed, "its other half")

#define TENSORSCOPE_MEMORY_REPORT_HOOKS(X)                                                                  \
  X(memory_reported, _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE, "libc10.so", mapped_memory,     \
    memory_reported, "memory-mapped and shared storages, and the caching allocators of devices")            \
  X(memory_reported_old, _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE, "libc10.so", mapped_memory, \
    memory_reported, "the same with signed totals, torch 1.13")

// Not rebase_history: its result changed under the same name, and it calls set_gradient_edge.
#define TENSORSCOPE_AUTOGRAD_HOOKS(X)                                                                          \
  X(gradient_edge_set, _ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE, "libtorch_cpu.so", \
    autograd, gradient_edge_set, "which node made a tensor, and the node's forward stack")                     \
  X(node_destroyed, _ZN5torch8autograd4NodeD2Ev, "libtorch_cpu.so", autograd, node_destroyed,                  \
    "the death of a node; inline in older versions")

// The second is for torch from 2.3 on; before, and where it calls the first, that one alone is seen.
#define TENSORSCOPE_SAVED_TENSOR_HOOKS(X)                                                                           \
  X(saved_tensor, _ZN5torch8autograd13SavedVariableC1ERKN2at6TensorEbb, "libtorch_cpu.so", autograd, tensor_saved,  \
    "what autograd keeps for backward")                                                                             \
  X(saved_optional, _ZN5torch8autograd13SavedVariableC1ERKSt8optionalIN2at6TensorEEbb, "libtorch_cpu.so", autograd, \
    tensor_saved, "the same of an argument that may be left out")

// The one numbers, with the allocator's lock held; the other is the CPU allocator's failure itself.
#define TENSORSCOPE_OUT_OF_MEMORY_REPORT_HOOKS(X)                                                                \
  X(out_of_memory_reported, _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE, "libc10.so", out_of_memory,     \
    out_of_memory_reported, "what a device's allocator was asked for and has, before it throws")                 \
  X(out_of_memory_reported_old, _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE, "libc10.so", out_of_memory, \
    out_of_memory_reported, "the same with signed totals, torch 1.13")
#define TENSORSCOPE_CPU_OUT_OF_MEMORY_HOOKS(X)                                                        \
  X(cpu_out_of_memory, _ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm, "libc10.so", out_of_memory, \
    cpu_out_of_memory, "the CPU allocator is about to throw")

// Only looked at where TENSORSCOPE_CUPTI asks for CUPTI. (torch also asks for these by name in places, which is not
// seen.)
#define TENSORSCOPE_DEVICE_COUNT_HOOKS(X)                                             \
  X(device_count, cudaGetDeviceCount, "libcudart.so", driver_memory, devices_counted, \
    "the program's own first call of the CUDA driver: from here on CUPTI may be opened")
#define TENSORSCOPE_CUPTI_HOOKS(X)                                                              \
  X(cupti_subscribe, cuptiSubscribe, "libcupti.so", driver_memory, cupti_taken,                 \
    "torch.profiler: there is room for one subscriber, and it asks once")                       \
  X(cupti_callbacks, cuptiActivityRegisterCallbacks, "libcupti.so", driver_memory, cupti_taken, \
    "the same of a tool that only takes records")

#define TENSORSCOPE_HOOKS(X)                      \
  TENSORSCOPE_TENSOR_CONSTRUCTORS_WITH_STORAGE(X) \
  TENSORSCOPE_OTHER_TENSOR_CONSTRUCTORS(X)        \
  TENSORSCOPE_TENSOR_DELETION(X)                  \
  TENSORSCOPE_TENSOR_DESTRUCTORS(X)               \
  TENSORSCOPE_TENSOR_RELEASES(X)                  \
  TENSORSCOPE_CPU_ALLOCATOR_HOOKS(X)              \
  TENSORSCOPE_MEMORY_REPORT_HOOKS(X)              \
  TENSORSCOPE_OUT_OF_MEMORY_REPORT_HOOKS(X)       \
  TENSORSCOPE_CPU_OUT_OF_MEMORY_HOOKS(X)          \
  TENSORSCOPE_AUTOGRAD_HOOKS(X)                   \
  TENSORSCOPE_SAVED_TENSOR_HOOKS(X)               \
  TENSORSCOPE_DEVICE_COUNT_HOOKS(X)               \
  TENSORSCOPE_CUPTI_HOOKS(X)

// Allocation calls of the CUDA runtime (cuda_runtime_api.h, 11 to 13; driver_types.h for the structs): X(name, why).
// The names that end in _ptsz are those of programs that are compiled for a default stream per thread. They have no
// version, which satisfies references to any.
#define TENSORSCOPE_CUDA_RUNTIME_FUNCTIONS(X)                                 \
  X(cudaMalloc, "segments of torch's caching allocator, and other libraries") \
  X(cudaMallocPitch, "other libraries")                                       \
  X(cudaMalloc3D, "other libraries")                                          \
  X(cudaMallocManaged, "other libraries")                                     \
  X(cudaFree, "the end of all of these, and of those of pools")               \
  X(cudaMallocAsync, "the backend cudaMallocAsync, and other libraries")      \
  X(cudaMallocAsync_ptsz, "the same")                                         \
  X(cudaMallocFromPoolAsync, "other libraries")                               \
  X(cudaMallocFromPoolAsync_ptsz, "the same")                                 \
  X(cudaFreeAsync, "the end of those of pools, and of those of cudaMalloc")   \
  X(cudaFreeAsync_ptsz, "the same")                                           \
  X(cudaHostAlloc, "pinned memory of torch and others")                       \
  X(cudaMallocHost, "the same")                                               \
  X(cudaFreeHost, "its end")                                                  \
  X(cudaHostRegister, "memory that is pinned where it lies")                  \
  X(cudaHostUnregister, "its end")

// Functions of libc that the preload stands before: X(name, why).
#define TENSORSCOPE_LIBC_FUNCTIONS(X)                                          \
  X(__libc_start_main, "a dump when main returns, before static destructors")  \
  X(exit, "the same for programs that call it")                                \
  X(_exit, "values that wait are written: children of multiprocessing end so") \
  X(_Exit, "the same")                                                         \
  X(pthread_exit, "a thread of the profiler's stays where it is")              \
  X(sigaction, "the program's own handler of the dump signal is kept")         \
  X(__sigaction, "the same")                                                   \
  X(signal, "the same")                                                        \
  X(__sysv_signal, "the same")                                                 \
  X(siginterrupt, "the same")                                                  \
  X(unshare, "the profiler's threads end before a call that wants one thread") \
  X(setns, "the same")                                                         \
  X(prctl, "a filter of system calls that the program puts before itself")     \
  X(syscall, "the same; before one for all threads the profiler's end")

// Functions of the C++ runtime, of which a process may have several (throw_function.h): X(name, why).
#define TENSORSCOPE_CXX_RUNTIME_FUNCTIONS(X) X(__cxa_throw, "torch throws an out-of-memory error")

// include/tensorscope/tensorscope.h: X(name).
#define TENSORSCOPE_PUBLIC_FUNCTIONS(X) \
  X(tensorscope_attach)                 \
  X(tensorscope_dump)                   \
  X(tensorscope_active)                 \
  X(tensorscope_stop)                   \
  X(tensorscope_start)                  \
  X(tensorscope_start_recording)        \
  X(tensorscope_stop_recording)         \
  X(tensorscope_stop_values)            \
  X(tensorscope_start_values)           \
  X(tensorscope_save)                   \
  X(tensorscope_annotate)               \
  X(tensorscope_mark_step)
