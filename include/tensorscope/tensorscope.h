// SPDX-License-Identifier: Apache-2.0
// tensorscope's C API for programs that want to ask for a dump themselves.
//
// Every function does nothing, and returns TENSORSCOPE_ABSENT or 0, when the process runs without libtensorscope.so:
// the symbols are weak, so a program that uses this header links without the library and needs no #ifdef.
// The functions may be called from any thread, with or without Python's GIL, but not from a signal handler.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TENSORSCOPE_OK = 0,
  TENSORSCOPE_ABSENT = -1,  // libtensorscope.so is not preloaded, or no PyTorch is in the process
  TENSORSCOPE_FAILED = -2,  // the dump could not be written; one line on standard error says why
};

// Writes a dump now and waits for it. `path_out`, where not null, receives the dump's path, cut to `path_size` bytes
// with its terminating zero. Returns one of the values above.
__attribute__((weak)) int tensorscope_dump(char* path_out, size_t path_size);

// Stops and starts the recording of stacks, the larger part of the profiler's cost. Tensors and memory are followed all
// the time, so that dumps stay whole; what is made while it is stopped has no stack, and each dump says so. stop() may
// also be called before PyTorch is loaded. Calls do not nest. Return TENSORSCOPE_OK.
__attribute__((weak)) int tensorscope_stop(void);
__attribute__((weak)) int tensorscope_start(void);

// Values, notes and steps for the values file (docs/watch.md), also where nothing is watched. Recorded from the first
// tensor of the process on; before that they return TENSORSCOPE_ABSENT.
//
// An array that lies without gaps in the processor's memory, last dimension fastest; for an at::Tensor t:
//   tensorscope_try_save("loss", t.data_ptr(), int(t.scalar_type()), t.sizes().data(), int(t.dim()))
// `dtype` is a number of c10::ScalarType. Copied before it returns. TENSORSCOPE_FAILED: a size or dtype that cannot be,
// or no memory.
__attribute__((weak)) int tensorscope_save(const char* name, const void* elements, int dtype, const int64_t* sizes,
                                           int dimensions);
__attribute__((weak)) int tensorscope_annotate(const char* text);
// A step of the program is over. From the first call on, optimizers' steps are not counted.
__attribute__((weak)) int tensorscope_mark_step(void);

// Stops and starts the recording of what is watched and of module calls; tensorscope_save() and tensorscope_annotate()
// record all the same, and steps are counted. Calls do not nest. Return TENSORSCOPE_OK.
__attribute__((weak)) int tensorscope_stop_values(void);
__attribute__((weak)) int tensorscope_start_values(void);

// Begins and ends the recording of every allocation, release and tensor (docs/cli/record.md); the file goes on with the
// next start. What happens between the two calls is in the file. TENSORSCOPE_FAILED: it could not be written.
__attribute__((weak)) int tensorscope_start_recording(void);
__attribute__((weak)) int tensorscope_stop_recording(void);

// For a process that the library was loaded into while it ran (dlopen with RTLD_NOW | RTLD_GLOBAL): tensors and memory
// that are made from now on are recorded; tensors that Python refers to are found, and known as older. `settings`:
// TENSORSCOPE_NAME=VALUE, each with its terminating zero, and an empty one; they come before those of the environment;
// null: none. `message`, where not null, receives why it failed. Returns TENSORSCOPE_OK or TENSORSCOPE_FAILED. Not to
// be called under malloc's or the loader's lock.
__attribute__((weak)) int tensorscope_attach(const char* settings, char* message, size_t size);

// 1 where the preload is active and recording, else 0.
__attribute__((weak)) int tensorscope_active(void);

#ifdef __cplusplus
}
#endif

// Call through these where the library may be absent: an undefined weak function must not be called.
static inline int tensorscope_try_dump(char* path_out, size_t path_size) {
  if (path_out && path_size > 0) path_out[0] = 0;
  return tensorscope_dump ? tensorscope_dump(path_out, path_size) : TENSORSCOPE_ABSENT;
}
static inline int tensorscope_try_stop(void) { return tensorscope_stop ? tensorscope_stop() : TENSORSCOPE_ABSENT; }
static inline int tensorscope_try_start(void) { return tensorscope_start ? tensorscope_start() : TENSORSCOPE_ABSENT; }
static inline int tensorscope_try_save(const char* name, const void* elements, int dtype, const int64_t* sizes,
                                       int dimensions) {
  return tensorscope_save ? tensorscope_save(name, elements, dtype, sizes, dimensions) : TENSORSCOPE_ABSENT;
}
static inline int tensorscope_try_annotate(const char* text) {
  return tensorscope_annotate ? tensorscope_annotate(text) : TENSORSCOPE_ABSENT;
}
static inline int tensorscope_try_mark_step(void) {
  return tensorscope_mark_step ? tensorscope_mark_step() : TENSORSCOPE_ABSENT;
}
static inline int tensorscope_try_stop_values(void) {
  return tensorscope_stop_values ? tensorscope_stop_values() : TENSORSCOPE_ABSENT;
}
static inline int tensorscope_try_start_values(void) {
  return tensorscope_start_values ? tensorscope_start_values() : TENSORSCOPE_ABSENT;
}
static inline int tensorscope_try_start_recording(void) {
  return tensorscope_start_recording ? tensorscope_start_recording() : TENSORSCOPE_ABSENT;
}
static inline int tensorscope_try_stop_recording(void) {
  return tensorscope_stop_recording ? tensorscope_stop_recording() : TENSORSCOPE_ABSENT;
}
static inline int tensorscope_is_active(void) { return tensorscope_active ? tensorscope_active() : 0; }
