// SPDX-License-Identifier: Apache-2.0
// What a tensor is at the moment it is released: sizes, dtype and storage, from its own fields. Only plain tensors of
// one class and one class of storages; of others nothing is known.
#pragma once

#include "live/snapshot_view.h"
#include "live/tracker.h"
#include "torch/metadata/metadata.h"

namespace tensorscope::recording {

// Has one of these tensors show where torch keeps what. `reader` knows the layout. Context: collector.
void learn_facts(const live::SnapshotView& view, torch::MetadataReader& reader);

// Called where facts are wanted and not known yet, the first, second, fourth, eighth time and so on: a tensor that
// ends before they are learnt has none.
void call_for_facts(void (*wanted)());

// A live::FactsFunction. Context: hook, on the thread that releases the tensor. No lock, no malloc.
size_t read_facts(const void* impl, live::Event* out);
// Whether one has shown it. Any context.
bool facts_are_known();

}  // namespace tensorscope::recording
