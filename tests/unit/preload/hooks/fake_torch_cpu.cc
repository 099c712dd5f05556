// SPDX-License-Identifier: Apache-2.0
// Stands for libtorch_cpu.so: opened later and privately, with functions of its own behind hooks.
#include "fake_torch.h"

TENSORSCOPE_AUTOGRAD_HOOKS(FAKE)

extern "C" Word fake_set_gradient_edge(const void* tensor, const void* edge) {
  return call_gradient_edge_set(Word(tensor), Word(edge), 3, 4, 5, 6);
}
// A name that no torch library here defines, as in an extension that was built for another version.
extern "C" Word fake_missing_function() { return call_memory_reported_old(0, 1, 0, 0, 0, 0); }
extern "C" void* fake_allocate(Word bytes) { return reinterpret_cast<void*>(call_alloc_cpu(bytes, 0, 0, 0, 0, 0)); }
