// SPDX-License-Identifier: Apache-2.0
// Tensors that were there before the profiler was, in a process that it was attached to (hooks/attach.h).
//
// Context: as each function says.
#pragma once

#include <cstdint>

#include "live/allocation_table.h"
#include "support/ids.h"

namespace tensorscope::live {

struct Attach {
  uint64_t ns = 0;          // when, on the monotonic clock; 0: the profiler was there from the start
  SiteId site = 0;          // of the tensors below
  uint64_t tensors = 0;     // that were found
  const char* detail = "";  // why some that Python refers to may be missing; a literal
};

// Context: activation, before recording begins. False: no memory.
bool start_attached();

// Enters a tensor that the table does not know. The caller holds the GIL and a Python object of the tensor. True where
// it was entered. Context: heap inspector.
bool add_earlier_tensor(const void* impl);

// Enters memory that the table does not know; its end will be seen. Serial 0: it was not entered. Context: heap
// inspector.
Serial add_earlier_allocation(const void* pointer, uint64_t nbytes, AllocationKind kind, Device device);
// Takes it out again where it is still the same entry: it had ended before it was entered.
void remove_earlier_allocation(const void* pointer, AllocationKind kind, Device device, Serial serial);

// Context: heap inspector.
void earlier_tensors_incomplete(const char* why);
void earlier_tensors_found();

// Any context.
Attach attach_facts();

}  // namespace tensorscope::live
