// SPDX-License-Identifier: Apache-2.0
/* A library that throws by a C++ runtime of its own and allocates by a CUDA runtime of its own. Two of them (LIBRARY 1
 * and 2) call from the same offsets, but what they call lies elsewhere. */
#include <setjmp.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default"), noinline))

typedef void destructor(void*);
void __cxa_throw(void* object, void* type, destructor* destroy);
int cudaMalloc(void** pointer, size_t size);

static jmp_buf handler;
static const struct {
  const void* table;
  const char* name;
} type = {0, "i"};

/* Both tell which library was reached. */
EXPORTED int throw_and_catch(void) {
  const int thrown_by = setjmp(handler);
  if (thrown_by) return thrown_by;
  __cxa_throw(0, (void*)&type, 0);
  return 0;
}
EXPORTED int allocate(void) {
  void* pointer;
  return cudaMalloc(&pointer, 64) + 0;
}

#if LIBRARY == 2
EXPORTED int padding(int n) { return n < 2 ? n : padding(n - 1) + padding(n - 2) * 3; }
#endif
EXPORTED void __cxa_throw(void* object, void* thrown, destructor* destroy) { longjmp(handler, LIBRARY); }
EXPORTED int cudaMalloc(void** pointer, size_t size) { return 100 + LIBRARY; }
