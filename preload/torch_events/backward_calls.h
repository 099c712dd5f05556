// SPDX-License-Identifier: Apache-2.0
// The backward of each call of a module: from the first of the autograd nodes that its forward made to the last, with
// time and memory. A forward call owns the sequence numbers that torch gave to nodes while it ran
// (ATen/SequenceNumber.h), and torch reports each node that runs (at::RecordFunction of the scope BACKWARD_FUNCTION).
//
// Context: as named.
#pragma once

#include <cstdint>

#include "live/device_table.h"
#include "support/status.h"
#include "values_generated.h"

namespace tensorscope::torch_events {

// Before what follows; once torch is loaded.
Status follow_forwards();

// A node that this thread has made last: where its sequence number lies is learnt from some of them.
void learn_from_new_node(const void* node);
bool knows_nodes();

// Registers with torch for the nodes that run. Once.
Status follow_backward(live::DeviceSlot device);
// From now on rows have this device's memory.
void follow_backward_on(live::DeviceSlot device);

// A call of a module begins and ends, on its thread. `row`: with what is known when it begins. `has_row`: its
// backward becomes a row. `context`: for forward_of_node(). The result is for forward_ends(); 0: not followed.
uint64_t forward_begins(const format::CallRow& row, bool has_row, const void* context);
void forward_ends(uint64_t forward);

// The innermost call during which a node was made that is alive; 0: in none that was followed, or it accumulates a
// gradient. Context: under a HookScope or InsideScope; any thread.
struct ForwardCall {
  uint64_t id = 0;
  const void* context = nullptr;
};
ForwardCall forward_of_node(const void* node);

// What has run backward so far becomes rows, without passes that another thread may be in the middle of, unless `all`.
// Context: under an InsideScope; a thread that runs no backward pass.
void add_backward_calls(uint64_t (*next_id)(), bool all);

}  // namespace tensorscope::torch_events
