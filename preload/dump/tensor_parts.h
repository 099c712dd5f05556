// SPDX-License-Identifier: Apache-2.0
// Which tensors an object of a class of its own is made of: the indices and values of a sparse tensor, what a
// functional or functorch wrapper wraps. Any word of such an object that is the address of a live tensor is a reference
// to it.
//
// Context: collector, without table locks. Words are read safely: the object may have died meanwhile.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dump_generated.h"
#include "live/snapshot_view.h"
#include "torch/metadata/metadata.h"

namespace tensorscope::dump {

// `owners`: indexes of tensors of such classes.
std::vector<format::TensorPart> tensor_parts(const live::SnapshotView& view, std::span<const size_t> owners,
                                             torch::MetadataReader& reader);

// Whether tensor_parts() has something to look for.
bool may_have_parts(const torch::Metadata& metadata);

}  // namespace tensorscope::dump
