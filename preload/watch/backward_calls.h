// The backward of each call of a module: from the first of the autograd nodes that its forward made to the last, with
// time and memory. A forward call owns the sequence numbers that torch gave to nodes while it ran
// (ATen/SequenceNumber.h), and torch reports each node that runs (at::RecordFunction of the scope BACKWARD_FUNCTION).
//
// Context: as named.
#pragma once

#include <cstdint>

#include "live/device_table.h"
#include "values_generated.h"

namespace tensorscope::watch {

// Registers with torch. Null, or why it cannot be; a literal. Once, after torch has been loaded.
const char* follow_backward(live::DeviceSlot device);
// Of which device memory is told from now on.
void follow_backward_on(live::DeviceSlot device);

// A call of a module begins and ends, on its thread. `row`: with what is known when it begins. The result is for
// forward_ends(); 0: not followed.
uint64_t forward_begins(const format::CallRow& row);
void forward_ends(uint64_t forward);

// What has run backward so far becomes rows. Context: under an InsideScope; any thread.
void add_backward_calls(uint64_t (*next_id)());

// Context: fork child.
void reset_backward_calls_after_fork();

}  // namespace tensorscope::watch
